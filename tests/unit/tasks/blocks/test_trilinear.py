import torch

from elmokit.tasks.blocks.trilinear import TrilinearSimilarity


def test_it_is_one_weight_on_both_vectors_and_their_product() -> None:
    torch.manual_seed(0)
    similarity = TrilinearSimilarity(dim=5)
    left, right = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    weight = torch.cat([similarity.left, similarity.right, similarity.product])
    x, y = left[:, :, None].expand(2, 3, 4, 5), right[:, None].expand(2, 3, 4, 5)
    expected = torch.cat([x, y, x * y], dim=3) @ weight
    torch.testing.assert_close(similarity(left, right), expected)


def test_a_case_worked_by_hand() -> None:
    similarity = TrilinearSimilarity(dim=2)
    with torch.no_grad():
        similarity.left.copy_(torch.tensor([1.0, 0.0]))
        similarity.right.copy_(torch.tensor([0.0, 10.0]))
        similarity.product.copy_(torch.tensor([100.0, 100.0]))
    left = torch.tensor([[[2.0, 3.0]]])
    right = torch.tensor([[[5.0, 7.0], [0.0, 1.0]]])
    # 2 + 70 + 100 * (10 + 21) and 2 + 10 + 100 * 3
    assert similarity(left, right).tolist() == [[[3172.0, 312.0]]]

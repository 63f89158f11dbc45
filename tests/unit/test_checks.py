"""Checks: references compute what their names say, and an output passes only if it is right, not zero and one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ahbmc.backend_sim.target.document import Node
from ahbmc.dialects.errors import AhbmcError, Place
from ahbmc.driver.checks import compare, expected, unchecked
from ahbmc.driver.expressions import parse
from ahbmc.driver.references import REFERENCES, evaluate
from ahbmc.driver.workload_schema import Check

HERE = Place("w.yaml", 4, 7)
RANDOM = np.random.default_rng(3)
A, B = RANDOM.standard_normal((5, 7)), RANDOM.standard_normal((7, 3))
Q, K, V = (RANDOM.standard_normal((6, 4)) for _ in range(3))
VALUES = {"a": A, "b": B, "q": Q, "k": K, "v": V, "scale": 0.3}


def reference(text: str) -> np.ndarray:
    return np.asarray(evaluate(parse(text, HERE), VALUES))


def test_every_reference_has_a_line_that_says_what_it_is() -> None:
    assert all(row.about and row.parameters for row in REFERENCES.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("matmul(a, b)", A @ B),
        ("a @ b", A @ B),
        ("add(a, a * 2)", 3 * A),
        ("-a / 2 + 1", 1 - A / 2),
        ("matmul(transpose(b), transpose(a))", (A @ B).T),
        ("relu(a)", np.where(A > 0, A, 0)),
        ("silu(a)", A / (1 + np.exp(-A))),
        ("sum(a, axis=0)", A.sum(0)),
        ("sum(a)", A.sum()),
        ("softmax(a, axis=0)", np.exp(A) / np.exp(A).sum(0)),
        ("rmsnorm(a, eps=0.0)", A / np.sqrt((A * A).mean(1, keepdims=True))),
        ("layernorm(a, 2.0, 1.0, eps=0.0)", (A - A.mean(1, keepdims=True)) / A.std(1, keepdims=True) * 2 + 1),
    ],
)
def test_reference_values(text: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(reference(text), expected, rtol=1e-12)


def test_attention_row_by_row() -> None:
    """Causal: row i sees keys 0..i. The scale may be an argument of the launch."""
    got = reference("attention(q, k, v, causal=True, scale=scale)")
    for i in range(6):
        weights = np.exp(0.3 * (K[: i + 1] @ Q[i]))
        np.testing.assert_allclose(got[i], weights @ V[: i + 1] / weights.sum(), rtol=1e-12)


def test_attention_scale_is_one_over_root_of_the_head_size() -> None:
    np.testing.assert_allclose(reference("attention(q, k, v)"), reference("attention(q, k, v, scale=0.5)"), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("matmull(a, b)", "there is no reference `matmull`"),
        ("matmul(a, c)", "`c` is no argument"),
        ("matmul(a)", "`matmul` lacks `b`"),
        ("matmul(a, b, b)", "too many arguments"),
        ("softmax(a, axes=1)", "has no parameter `axes`"),
        ("softmax(a, axis=5)", "cannot take operands of shape [5, 7]"),
        ("matmul(a, a)", "cannot take operands of shape [5, 7], [5, 7]"),
        ("softmax(a, axis=0.5)", "cannot take operands"),
    ],
)
def test_bad_reference_has_a_place(text: str, part: str) -> None:
    with pytest.raises(AhbmcError) as caught:
        reference(text)
    assert part in caught.value.faults[0].message
    assert caught.value.faults[0].place is not None


CHECK = Check(reference="copy(a)", rtol=1e-3, atol=1e-6)


def test_right_values_pass_and_errors_are_measured() -> None:
    got = (A * (1 + 1e-4)).astype(np.float32)
    result = compare("c", got, A, CHECK, HERE)
    assert result.ok is True and result.reason == ""
    assert result.max_rel_err == pytest.approx(1e-4, rel=0.01)
    assert result.max_abs_err == pytest.approx(1e-4 * np.abs(A).max(), rel=0.01)
    assert (result.shape, result.dtype) == ((5, 7), "fp32")


def test_one_wrong_element_fails_and_is_named() -> None:
    got = A.astype(np.float32)
    got[2, 3] += 1
    result = compare("c", got, A, CHECK, HERE)
    assert result.ok is False
    assert "1 of 35 elements are off; first at [2, 3]" in result.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_where_none_should_be(bad: float) -> None:
    got = A.astype(np.float32)
    got[0, 0] = bad
    assert compare("c", got, A, CHECK, HERE).ok is False


def test_nan_and_infinity_where_they_should_be() -> None:
    want = A.copy()
    want[0, 0], want[1, 1] = np.nan, -np.inf
    assert compare("c", want.astype(np.float32), want, CHECK, HERE).ok is True
    assert compare("c", A.astype(np.float32), want, CHECK, HERE).ok is False


def test_all_zero_output_fails_even_if_the_reference_is_zero() -> None:
    zero = np.zeros((5, 7))
    result = compare("c", zero.astype(np.float32), zero, CHECK, HERE)
    assert result.ok is False
    assert "all zero" in result.reason


def test_written_copies_must_be_equal() -> None:
    result = compare("c", A.astype(np.float32), A, CHECK, HERE, copies_differ=True)
    assert result.ok is False
    assert "copies differ" in result.reason
    assert unchecked("c", A.astype(np.float32), True).ok is False
    assert unchecked("c", A.astype(np.float32), False).ok is None


def test_shape_of_the_reference_must_fit() -> None:
    with pytest.raises(AhbmcError, match=r"shape \[7, 5\], the tensor \[5, 7\]"):
        compare("c", A.astype(np.float32), A.T, CHECK, HERE)
    total = np.asarray(A.sum())
    assert compare("c", total.astype(np.float32).reshape(1), total, CHECK, HERE).ok is True


def test_reference_from_a_file(tmp_path: Path) -> None:
    folder = tmp_path
    np.save(folder / "c.npy", A)
    node = Node({"file": Node("c.npy", HERE)}, HERE)
    assert (expected(Check(file="c.npy"), node, {}, folder) == A).all()
    with pytest.raises(AhbmcError, match=r"no file .*d\.npy"):
        expected(Check(file="d.npy"), node, {}, folder)
    (folder / "e.npy").write_text("no array")
    with pytest.raises(AhbmcError, match=r"e\.npy is no \.npy array"):
        expected(Check(file="e.npy"), node, {}, folder)

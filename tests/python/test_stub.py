"""The stub _core.pyi names what the extension has: classes, members and parameters."""

import ast
import re
from pathlib import Path

import pytest

import sparsejit
from sparsejit import _core

PACKAGE = Path(sparsejit.__file__).parent
STUB = PACKAGE / "_core.pyi"


def stub_body():
    return ast.parse(STUB.read_text()).body


def functions_of(body):
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def classes():
    return {node.name: node for node in stub_body() if isinstance(node, ast.ClassDef)}


def own_names(owner):
    """What the extension adds to a class, operators and constructors included."""
    return {
        name
        for name, value in vars(owner).items()
        if name not in dir(object)
        and not name.startswith("__module")
        or type(value).__name__ == "nb_method"
    }


def parameters_in_stub(function):
    """(those given by position only, the names of the others), without self."""
    arguments = function.args
    by_position = [a.arg for a in arguments.posonlyargs if a.arg != "self"]
    return len(by_position), [a.arg for a in arguments.args if a.arg != "self"]


def parameters_in_module(function):
    """The same from the text nanobind keeps: "def f(self, arg0: int, name: tuple) -> None"."""
    text = function.__nb_signature__[0][0]
    names = re.findall(r"[(,] ?(\w+): ", text)
    by_position = text.split(" -> ")[0].endswith("/)")
    return (len(names), []) if by_position else (0, names)


def bound_functions():
    """(label, function in the stub, function in the module) of functions and methods."""
    for name, node in functions_of(stub_body()).items():
        yield name, node, getattr(_core, name)
    for owner, class_node in classes().items():
        for name, node in functions_of(class_node.body).items():
            bound = getattr(_core, owner).__dict__[name]
            if not isinstance(bound, property):
                yield f"{owner}.{name}", node, bound


def test_the_package_carries_its_types():
    assert (PACKAGE / "py.typed").exists() and STUB.exists()


def test_the_stub_names_what_the_module_has():
    named = set(functions_of(stub_body())) | set(classes())
    assert named == {name for name in dir(_core) if not name.startswith("__")}


@pytest.mark.parametrize("name", classes())
def test_the_stub_names_the_members_of(name):
    named = set(functions_of(classes()[name].body))
    assert named == own_names(getattr(_core, name))


@pytest.mark.parametrize(
    "name, node, bound", [pytest.param(*f, id=f[0]) for f in bound_functions()]
)
def test_the_stub_gives_the_parameters_of(name, node, bound):
    assert parameters_in_stub(node) == parameters_in_module(bound)


def test_properties_are_properties_in_both():
    for owner, class_node in classes().items():
        for name, node in functions_of(class_node.body).items():
            in_module = isinstance(getattr(_core, owner).__dict__[name], property)
            assert in_module == any(
                getattr(d, "id", None) == "property" for d in node.decorator_list
            ), f"{owner}.{name}"

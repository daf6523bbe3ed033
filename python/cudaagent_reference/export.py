"""The exported ATen graph of a model as plain data: the JSON form stated in src/graph/graph.h.

torch.export's training IR is kept as it is (aten::linear stays aten::linear, in-place operators
stay in place), but for what has no meaning outside the exporter: assertions, detach, device
arguments (the candidate runs on one device), and copies of lifted constants.
"""

import math
import operator

import torch

from cudaagent_reference import recurrent

# Results that are their first argument: the same elements at the same place.
_SAME_TENSOR = {"aten::detach", "aten::detach_", "aten::alias", "aten::lift", "aten::lift_fresh"}
# Overloads of aten::to with a device argument, written as the one without.
_TO_WITH_DEVICE = {"device", "prim_Device", "dtype_layout"}


class NotExportable(Exception):
    pass


class DrawsRandom(NotExportable):
    """`drops`: an operator with a switch for it does, such as dropout, which another mode may leave out."""

    def __init__(self, op, drops):
        super().__init__(f"forward draws random numbers ({op}), which no plan can repeat; draw them in "
                         f"get_inputs() and pass them in.")
        self.op, self.drops = op, drops


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def export(model, inputs, input_names, parameter_names, by_keyword=False):
    """(graph as JSON-able data, {"const0": tensor, ...}). Raises NotExportable or what torch.export
    raises. `inputs` are Model.forward's arguments in the order of `input_names`."""
    args, kwargs = tuple(inputs), None
    if by_keyword:
        args, kwargs = (), dict(zip(input_names, inputs))
    with torch.no_grad(), recurrent.stated_shapes():
        program = torch.export.export(model, args, kwargs, strict=False)
    return _Writer(program, input_names, parameter_names).write()


def peak_bytes(graph):
    """At least this much is alive at once: the outputs and, for each node, what it writes."""
    sizes = {out["name"]: math.prod(out["shape"]) * getattr(torch, out["dtype"]).itemsize
             for node in graph["nodes"] for out in node["outputs"]}
    outputs = sum(sizes.get(name, 0) for name in set(graph["outputs"]))
    largest = max(sizes.values(), default=0)
    return max(outputs, largest)


class _Writer:
    """Walks the exported program once, in order of execution."""

    def __init__(self, program, input_names, parameter_names):
        self._program = program
        self._input_names = input_names
        self._parameter_names = set(parameter_names)
        self._used = set(input_names) | self._parameter_names
        self._constants = {}
        self._nodes = []
        self._random = {}  # names of nodes that draw random numbers -> (the operator, by a switch)
        self._skipped = set()  # fx.Nodes that only count calls
        self._values = {}  # fx.Node -> {"ref": name}, a list of these, a literal or a submodule
        self._written = _written_storages(program.graph_module)

    def write(self):
        self._bind_placeholders()
        results = self._emit_graph(self._program.graph_module)
        outputs = []
        for spec, result in zip(self._program.graph_signature.output_specs, results):
            if spec.kind.name != "USER_OUTPUT":
                raise NotExportable(f"The graph has an output of kind {spec.kind.name}.")
            if not (isinstance(result, dict) and "ref" in result):
                raise NotExportable("An output of the graph is not a tensor.")
            outputs.append(result["ref"])
        self._drop_unused(outputs)
        drawn = [self._random[node["name"]] for node in self._nodes if node["name"] in self._random]
        if drawn:
            raise DrawsRandom(*max(drawn, key=lambda each: each[1]))
        return {"nodes": self._nodes, "outputs": outputs}, self._constants

    # ---- what the graph starts from ----

    def _bind_placeholders(self):
        inputs = iter(self._input_names)
        placeholders = [node for node in self._program.graph.nodes if node.op == "placeholder"]
        for node, spec in zip(placeholders, self._program.graph_signature.input_specs):
            kind = spec.kind.name
            if kind == "USER_INPUT":
                name = next(inputs)
                value = node.meta.get("val")
                self._values[node] = self._source(node, name) if isinstance(
                    value, torch.Tensor) else _literal(value)
            elif kind in ("PARAMETER", "BUFFER"):
                if kind == "BUFFER" and _only_written(node):
                    self._skipped.update(node.users)
                    continue
                # An input hides a parameter of its name (docs/candidate_format.md).
                shadowed = spec.target in self._input_names
                self._values[node] = self._source(
                    node, f"param:{spec.target}" if shadowed else spec.target)
            elif kind == "CONSTANT_TENSOR":
                name = self._lift(self._program.constants[spec.target])
                self._values[node] = self._source(node, name)
            else:
                raise NotExportable(f"The graph has an input of kind {kind} ({spec.target}).")

    def _lift(self, tensor):
        number = len(self._constants)
        while f"const{number}" in self._used:
            number += 1
        name = f"const{number}"
        self._used.add(name)
        self._constants[name] = tensor
        return name

    def _source(self, node, name):
        """The ref of an input, parameter or constant: of a copy where the model writes into it, as
        a candidate may not."""
        value = node.meta.get("val")
        if value is None or _storage(value) not in self._written:
            return {"ref": name}
        return self._emit_clone(name, value)

    def _emit_clone(self, name, value):
        return self._emit(name.replace(".", "_").replace(":", "_") + "_copy", "aten::clone",
                          "default", [{"ref": name}], {}, [value], writes=False)[0]

    # ---- nodes ----

    def _emit_graph(self, module):
        """Emits every node; the values of the graph's outputs."""
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self._values[node] = self._attribute(module, node)
            elif node.op == "call_function":
                self._emit_call(node)
            elif node.op == "output":
                return [self._value(result) for result in node.args[0]]
            elif node.op != "placeholder":
                raise NotExportable(f"The graph has a {node.op} node ({node.target}).")
        return []

    def _attribute(self, module, node):
        value = operator.attrgetter(node.target)(module)
        return {"ref": self._lift(value)} if isinstance(value, torch.Tensor) else value

    def _emit_call(self, node):
        target = node.target
        if target is operator.getitem:
            self._values[node] = self._values[node.args[0]][node.args[1]]
        elif isinstance(target, torch._ops.OpOverload):
            self._emit_op(node, target)
        elif target is torch._C._set_grad_enabled:
            pass  # gradients are never taken here
        elif getattr(target, "__name__", "") == "wrap_with_set_grad_enabled":
            self._inline(node)
        else:
            name = getattr(target, "__name__", str(target))
            raise NotExportable(f"The graph calls '{name}', which is not an ATen operator.")

    def _inline(self, node):
        body, operands = self._values[node.args[1]], node.args[2:]
        placeholders = [inner for inner in body.graph.nodes if inner.op == "placeholder"]
        for placeholder, operand in zip(placeholders, operands):
            self._values[placeholder] = self._value(operand)
        self._values[node] = self._emit_graph(body)

    def _emit_op(self, node, target):
        if node in self._skipped:
            self._skipped.update(node.users)
            return
        name, overload = target._schema.name, target._overloadname
        result = node.meta.get("val")
        args = [self._value(arg) for arg in node.args]
        kwargs = {key: self._value(value) for key, value in node.kwargs.items()
                  if not isinstance(value, torch.device) and key != "pin_memory"}
        if _updates_statistics(node) and all(_is_statistic(each) for each in node.args[3:5]):
            args[3:5] = [None, None]  # the result is that of the batch; nothing reads what is updated
        if not _draws(node, target):
            for i, argument in enumerate(target._schema.arguments[:len(args)]):
                if argument.name == "train":
                    args[i] = False  # nothing is dropped: the same result by a call that plans may make
        if name in _SAME_TENSOR:
            self._values[node] = args[0]
            return
        if name == "aten::lift_fresh_copy":
            written = _storage(result) in self._written
            self._values[node] = self._emit_clone(args[0]["ref"], result) if written else args[0]
            return
        if name == "aten::to" and overload != "other":
            if _same_elements(node.args[0].meta.get("val"), result):
                self._values[node] = args[0]
                return
            if overload in _TO_WITH_DEVICE:
                copy = node.kwargs.get("copy", False)
                overload, args = "dtype", [args[0], dtype_name(result.dtype), False, copy]
                kwargs = {key: value for key, value in kwargs.items() if key == "memory_format"}
        if any(isinstance(arg, torch.device) for arg in args):
            raise NotExportable(f"{name} is called with a device in the middle of its arguments.")

        writes = _writes(target)
        if result is None or isinstance(result, (bool, int, float)):
            # An assertion, a number known now (a size), or an operator that only writes.
            self._values[node] = result
            if writes:
                self._emit(node.name, name, overload, args, kwargs, [], writes)
                self._note_random(node, target)
            return
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        if not all(isinstance(value, torch.Tensor) for value in results):
            raise NotExportable(f"{name} gives a value that is known only when the model runs.")
        refs = self._emit(node.name, name, overload, args, kwargs, results, writes,
                          several=several, names=_getitem_names(node) if several else {},
                          returns_list=several and len(target._schema.returns) == 1)
        self._note_random(node, target)
        self._values[node] = refs if several else refs[0]

    def _note_random(self, node, target):
        if _draws(node, target):
            self._random[self._nodes[-1]["name"]] = (target._schema.name, _has_switch(target))

    def _emit(self, name, op, overload, args, kwargs, results, writes, several=False, names=None,
              returns_list=False):
        name = self._unique(name)
        outputs = []
        for i, value in enumerate(results):
            own = self._unique((names or {}).get(i, f"{name}_{i}")) if several else name
            outputs.append({"name": own, "shape": list(value.shape),
                            "strides": list(value.stride()), "dtype": dtype_name(value.dtype)})
        for key, value in [*enumerate(args), *kwargs.items()]:
            _check_plain(value, op, key)
        self._nodes.append({"name": name, "op": op, "overload": overload, "args": args,
                            "kwargs": kwargs, "outputs": outputs, "returns_list": returns_list,
                            "writes": writes})
        return [{"ref": output["name"]} for output in outputs]

    def _unique(self, name):
        candidate, number = name, 1
        while candidate in self._used:
            candidate, number = f"{name}_n{number}", number + 1
        self._used.add(candidate)
        return candidate

    def _value(self, arg):
        if isinstance(arg, torch.fx.Node):
            return self._values[arg]
        if isinstance(arg, (list, tuple)):
            return [self._value(element) for element in arg]
        return _literal(arg)

    def _drop_unused(self, outputs):
        needed, kept = set(outputs), []
        for node in reversed(self._nodes):
            if node.pop("writes") or any(out["name"] in needed for out in node["outputs"]):
                kept.append(node)
                needed.update(_refs([*node["args"], *node["kwargs"].values()]))
        self._nodes = kept[::-1]


def _literal(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}  # "inf", "-inf", "nan"
    if value is None or isinstance(value, (bool, int, float, str, torch.device)):
        return value
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, (torch.layout, torch.memory_format)):
        return str(value).removeprefix("torch.")
    raise NotExportable(f"The graph has an argument of type {type(value).__name__} ({value}).")


def _check_plain(value, op, key):
    if isinstance(value, list):
        for element in value:
            _check_plain(element, op, key)
    elif not (value is None or isinstance(value, (bool, int, float, str, dict))):
        raise NotExportable(f"{op} has an argument ({key}) that is a {type(value).__name__}.")


def _refs(values):
    for value in values:
        if isinstance(value, list):
            yield from _refs(value)
        elif isinstance(value, dict) and "ref" in value:
            yield value["ref"]


def _getitem_names(node):
    return {user.args[1]: user.name for user in node.users if user.target is operator.getitem}


def _storage(value):
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None


def _same_elements(a, b):
    return (_storage(a) == _storage(b) and a.shape == b.shape and a.stride() == b.stride()
            and a.storage_offset() == b.storage_offset() and a.dtype == b.dtype)


def _writes(target):
    schema = target._schema
    return schema.name not in _SAME_TENSOR and any(
        arg.alias_info is not None and arg.alias_info.is_write for arg in schema.arguments)


def _only_written(node):
    """Whether in-place operators write into this value, and nothing else uses it or their results."""
    return all(isinstance(user.target, torch._ops.OpOverload) and _writes(user.target)
               and user.args[0] is node and node not in user.args[1:] and _only_written(user)
               for user in node.users)


def _updates_statistics(node):
    """Whether this is a batch or instance norm that normalises by its input's own statistics."""
    return (isinstance(node.target, torch._ops.OpOverload)
            and node.target._schema.name in ("aten::batch_norm", "aten::instance_norm")
            and len(node.args) > 5 and node.args[5] is True)


def _is_statistic(value):
    """Whether norms update this (or it is None) and nothing else looks at it."""
    if not isinstance(value, torch.fx.Node):
        return value is None
    return value.op == "placeholder" and all(
        _updates_statistics(user) and value in user.args[3:5] and value not in user.args[:3]
        for user in value.users)


def _has_switch(target):
    return any(argument.name in ("train", "training", "dropout_p")
               for argument in target._schema.arguments)


def _draws(node, target):
    """Whether this call takes random numbers; dropout does not where nothing is dropped."""
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    given = {argument.name: argument.default_value for argument in target._schema.arguments}
    given.update(zip(given, node.args))
    given.update(node.kwargs)
    for switch in ("train", "training"):
        if switch in given:
            return bool(given[switch]) and given.get("p", given.get("dropout", 1)) != 0
    return given.get("dropout_p", 1) != 0


def _written_storages(module):
    """Storages of all tensors that an operator of the graph or of its submodules writes into."""
    written = set()
    for graph_module in module.modules():
        if not isinstance(graph_module, torch.fx.GraphModule):
            continue
        for node in graph_module.graph.nodes:
            if not isinstance(node.target, torch._ops.OpOverload) or not _writes(node.target):
                continue
            for i, argument in enumerate(node.target._schema.arguments):
                if argument.alias_info is None or not argument.alias_info.is_write:
                    continue
                given = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
                for tensor in given if isinstance(given, (list, tuple)) else [given]:
                    if isinstance(tensor, torch.fx.Node):
                        written.add(_storage(tensor.meta.get("val")))
    return written

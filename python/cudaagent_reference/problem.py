"""A problem: model.py executed, its model on the device, its inputs, forward and description."""

import ast
import gc
import hashlib
import inspect
import json
import linecache
import math
import os
import random
import sys
import types

import torch
from torch.utils import _pytree as pytree

from cudaagent_reference import constants, export, memory, redraw
from cudaagent_reference.trouble import first_line, usage, users_code, Trouble

# Building the model draws its weights after this seed; the first inputs are made with seed 0.
_WEIGHT_SEED = 42
_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_SCALARS = (bool, int, float, str, type(None))


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)  # every device's generator
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def tensor_info(name, tensor):
    return {"name": name, "shape": list(tensor.shape), "strides": list(tensor.stride()),
            "dtype": export.dtype_name(tensor.dtype),
            "bytes": tensor.numel() * tensor.element_size(), "contiguous": tensor.is_contiguous()}


class Problem:
    """Made by load(). Every method raises Trouble, nothing else."""

    def __init__(self, path, source, class_name, inputs_fn, consts, dtype, device, train):
        self._path, self._file = path, os.path.basename(path)
        if dtype not in _DTYPES:
            raise usage(f"--dtype {dtype} is not one of {', '.join(_DTYPES)}.")
        self._device, self._dtype = torch.device(device), _DTYPES[dtype]
        self._compiled = {}  # by torch.compile's mode
        self._originals = []
        self._train = train
        self._statistics = []  # (module, key, tensor, copy): buffers that forward updates
        self._statistics_changed = False
        self._inputs_on_device = self._device.type != "cpu"
        literals = constants.parse(consts)
        written = sorted((name, ast.unparse(node)) for name, node in literals.items())
        identity = json.dumps([source, class_name, written, dtype,
                               *([] if inputs_fn == "get_inputs" else [inputs_fn]),
                               *([["mode", "train"]] if train else [])])
        self._hash = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()

        namespace = self._execute(source, literals)
        model_class = self._find_class(namespace, class_name)
        self._inputs_fn = inputs_fn
        self._keywords = None  # names of forward's arguments where the inputs come as a dict
        self._get_inputs = self._find_function(namespace, inputs_fn, keywords=True)
        get_init_inputs = self._find_function(namespace, "get_init_inputs")
        self._check_size(model_class, get_init_inputs)
        self._model = self._build(model_class, get_init_inputs)
        self._class_name = class_name
        self._describe()

    # ---- loading ----

    def _guard(self, doing):
        return users_code(self._path, doing, self._device)

    def _execute(self, source, literals):
        folder = os.path.dirname(self._path)
        if folder not in sys.path:
            sys.path.append(folder)  # last: a file named like a module of torch must not shadow it
        # Tracebacks and inspect show the text that runs, whatever lies on the disk by now.
        linecache.cache[self._path] = (len(source), None, source.splitlines(True), self._path)
        module = types.ModuleType("cudaagent_model")
        module.__file__ = self._path
        sys.modules[module.__name__] = module  # torch.compile looks globals up there
        with self._guard("executing it"):
            tree = ast.parse(source, self._path)
            constants.override(tree, literals, self._file)
            seed_everything(_WEIGHT_SEED)
            exec(compile(tree, self._path, "exec", dont_inherit=True), module.__dict__)
        return module.__dict__

    def _find_class(self, namespace, class_name):
        found = namespace.get(class_name)
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            return found
        if found is not None:
            raise usage(f"{self._file}: {class_name} is not a subclass of torch.nn.Module.")
        classes = [name for name, value in namespace.items()
                   if isinstance(value, type) and value.__module__ == "cudaagent_model"]
        have = f" Its classes are {', '.join(classes)}." if classes else ""
        raise usage(f"{self._file} has no class '{class_name}'."
                    f"{constants.nearest(class_name, classes)}{have}")

    def _find_function(self, namespace, name, keywords=False):
        if name not in namespace and name not in ("get_inputs", "get_init_inputs"):
            functions = [each for each, value in namespace.items()
                         if isinstance(value, types.FunctionType)
                         and value.__module__ == "cudaagent_model"]
            have = f" Its functions are {', '.join(functions)}." if functions else ""
            raise usage(f"{self._file} has no function {name}()."
                        f"{constants.nearest(name, functions)}{have}")
        if name not in namespace:
            raise usage(f"{self._file} has no function {name}(). The problem's contract is a class "
                        f"Model(nn.Module), get_inputs() and get_init_inputs(), both returning "
                        f"lists.")
        function = namespace[name]
        if not callable(function):
            raise usage(f"{self._file}: {name} is not a function.")

        def checked():
            result = function()
            if keywords and isinstance(result, dict):
                return self._by_position(result)
            if not isinstance(result, (list, tuple)):
                raise usage(f"{self._file}: {name}() must return a list, and returned a "
                            f"{type(result).__name__}.")
            return list(result)

        return checked

    def _by_position(self, keywords):
        """The values of forward's keyword arguments, in the order of its signature."""
        keywords = dict(keywords)
        if not all(isinstance(name, str) for name in keywords):
            raise usage(f"{self._file}: {self._inputs_fn}() returned a dict whose keys are no names "
                        f"of arguments.")
        order = list(self._signature.parameters)
        names = sorted(keywords, key=lambda name: order.index(name) if name in order else len(order))
        if self._keywords is None:
            self._keywords = names
        elif self._keywords != names:
            raise usage(f"{self._file}: {self._inputs_fn}() must return the same arguments each time.")
        return [keywords[name] for name in names]

    def _call(self, model, inputs):
        if self._keywords is None:
            return model(*inputs)
        return model(**dict(zip(self._keywords, inputs)))

    def _check_size(self, model_class, get_init_inputs):
        self._signature = inspect.signature(model_class.forward)
        inputs, parameters = memory.sizes_on_meta(model_class, self._get_inputs, get_init_inputs,
                                                  self._dtype.itemsize)
        memory.require({"inputs": inputs, "parameters": parameters}, self._device, self._file)

    def _on_device(self, make, what):
        """make() with the device as torch's default; (False, None) where only the CPU will do, as
        when the code converts to numpy. Weights and inputs of many gigabytes are slow to draw on
        the CPU."""
        if self._device.type == "cpu":
            return False, None
        try:
            with torch.device(self._device):
                return True, make()
        except (torch.OutOfMemoryError, Trouble):
            raise
        except Exception as error:
            print(f"{self._file}: {what} cannot be made on {self._device} ({first_line(error)}); "
                  f"made on the CPU instead.", file=sys.stderr)
            return False, None

    def _build(self, model_class, get_init_inputs):
        def build():
            seed_everything(_WEIGHT_SEED)
            return model_class(*get_init_inputs())

        with self._guard(f"building the {model_class.__name__}"), torch.no_grad():
            done, model = self._on_device(build, "the model")
            model = (model if done else build()).train(self._train)
            model.requires_grad_(False)
            model.to(device=self._device, dtype=self._dtype)
            for module in model.modules():  # tensors that are plain attributes
                for name, value in list(vars(module).items()):
                    if isinstance(value, torch.Tensor):
                        setattr(module, name, self._place(value))
        return model

    def _place(self, tensor):
        dtype = self._dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.detach().to(device=self._device, dtype=dtype)

    # ---- running ----

    def make_inputs(self, seed):
        seed_everything(seed)
        with self._guard("making the inputs"), torch.no_grad():
            done = False
            if self._inputs_on_device:
                done, values = self._on_device(self._get_inputs, "the inputs")
                self._inputs_on_device = done
            if not done:
                seed_everything(seed)
                values = self._get_inputs()
            for i in range(len(values)):  # in place: the uncast tensor is freed as we go
                values[i] = self._checked_input(i, values[i])
        return tuple(values)

    def _checked_input(self, i, value):
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_quantized:
                raise usage(f"{self._file}: {self._inputs_fn}()[{i}] is a {value.layout} tensor; only "
                            f"dense ones are supported yet.")
            return self._place(value)
        if isinstance(value, _SCALARS):
            if isinstance(value, int) and not -2**63 <= value < 2**63:
                raise usage(f"{self._file}: {self._inputs_fn}()[{i}] = {value} does not fit in 64 bits.")
            return value
        raise usage(f"{self._file}: {self._inputs_fn}()[{i}] is a {type(value).__name__}; only tensors, "
                    f"numbers, booleans, None and strings are supported yet.")

    def forward(self, *inputs):
        with self._guard("running forward"), torch.no_grad():
            self._begin_forward()
            return self._checked_outputs(self._call(self._model, inputs))

    def forward_double(self, *inputs):
        with self._guard("running forward in float64"), torch.no_grad():
            self.restore_statistics()
            return self._checked_outputs(redraw.forward_double(self._model, inputs))

    def redraw_parameters(self, seed):
        with self._guard("drawing new parameters"), torch.no_grad():
            self.restore_statistics()
            self._originals = redraw.copies(self._model)
            seed_everything(seed)
            redraw.redraw(self._model)
            self._keep_statistics()

    def restore_parameters(self):
        with self._guard("restoring the parameters"), torch.no_grad():
            self.restore_statistics()
            redraw.restore(self._originals)
            self._originals = []
            self._keep_statistics()

    # In train mode a forward changes running statistics. Each begins with those of the beginning, so
    # that two on the same input agree.

    def _begin_forward(self):
        self.restore_statistics()
        self._statistics_changed = True

    def restore_statistics(self):
        if not self._statistics_changed or not self._statistics:
            return
        with self._guard("restoring the running statistics"), torch.no_grad():
            for module, key, tensor, _ in self._statistics:
                module._buffers[key] = tensor  # forward may have put another there
            torch._foreach_copy_([tensor for _, _, tensor, _ in self._statistics],
                                 [copied for *_, copied in self._statistics])
        self._statistics_changed = False

    def _keep_statistics(self):
        for *_, tensor, copied in self._statistics:
            copied.copy_(tensor)

    def forward_compiled(self, mode, *inputs):
        if mode not in self._compiled:
            self._compiled[mode] = torch.compile(self._model, mode=mode)
        try:
            with torch.no_grad():
                self._begin_forward()
                return self._checked_outputs(self._call(self._compiled[mode], inputs))
        except BaseException as error:
            with self._guard("running the compiled forward"):
                if isinstance(error, (Trouble, torch.OutOfMemoryError, torch.AcceleratorError)):
                    raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()][:3]
            error.__traceback__ = None
            said = f"{type(error).__name__}: {' '.join(lines)[:600]}"
            raise Trouble("environment",
                          f"torch.compile failed on {self._file}: {said}") from None

    def _checked_outputs(self, result):
        # Tuples, lists, dicts and what is registered as their like, nested, in torch.export's order.
        outputs = pytree.tree_leaves(result)
        where = f"{self._file}: {self._class_name}.forward returns "
        if not outputs:
            raise usage(where + "nothing.")
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                among = " among its outputs" if output is not result else ""
                raise usage(f"{where}a value of type {type(output).__name__}{among}, which is not "
                            f"supported yet. Return tensors, or tuples and dicts of tensors.")
            if output.layout != torch.strided:
                raise usage(f"{where}a {output.layout} tensor, which is not supported yet.")
        return tuple(outputs)

    # ---- describing ----

    def _input_names(self, inputs):
        signature = inspect.signature(self._model.forward)
        try:
            if self._keywords is not None:
                signature.bind(**dict(zip(self._keywords, inputs)))
                return list(self._keywords)
            bound = signature.bind(*inputs)
        except TypeError as error:
            values = f"{len(inputs)} {'value' if len(inputs) == 1 else 'values'}"
            raise usage(f"{self._file}: {self._inputs_fn}() returns {values}, but {self._class_name}."
                        f"forward{signature} does not take them: {error}.") from None
        names = []
        for name, value in bound.arguments.items():
            variadic = signature.parameters[name].kind == inspect.Parameter.VAR_POSITIONAL
            names += [f"{name}_{i}" for i in range(len(value))] if variadic else [name]
        return names

    def _describe(self):
        """Fills what info() and tensors() return. The model is exported, then runs once."""
        parameters = dict(self._model.named_parameters(remove_duplicate=False))
        parameters.update(self._model.named_buffers(remove_duplicate=False))
        state = self._model.state_dict(keep_vars=True)  # its order and names, then other buffers
        names = [*(name for name in state if name in parameters),
                 *(name for name in parameters if name not in state)]
        self._tensors = {name: parameters[name].detach() for name in names}
        parameter_infos = [tensor_info(name, tensor) for name, tensor in self._tensors.items()]

        inputs = self.make_inputs(0)
        input_names = self._input_names(inputs)
        graph, lifted, export_error = None, {}, ""
        try:
            graph, lifted = export.export(self._model, inputs, input_names, list(self._tensors),
                                          by_keyword=self._keywords is not None)
        except BaseException as error:  # a model that cannot be exported still runs
            export_error = f"torch.export: {type(error).__name__}: {first_line(error)}"
            if isinstance(error, export.NotExportable):
                export_error = str(error)
            if self._train:
                self._refuse_dropout(error, inputs, input_names)
        lifted = {name: tensor.detach().to(self._device) for name, tensor in lifted.items()}
        if graph is not None and self._device.type == "cpu":
            memory.require({"outputs and intermediate values": export.peak_bytes(graph)},
                           self._device, self._file)
        before = [(module, key, tensor, tensor.clone()) for module in self._model.modules()
                  for key, tensor in module._buffers.items()
                  if self._train and tensor is not None]
        outputs = self.forward(*inputs)
        self._statistics = [
            each for each in before if each[0]._buffers[each[1]] is not each[2]
            or not torch.equal(each[2], each[3])]
        changed = {tensor.data_ptr() for _, _, tensor, _ in self._statistics}
        self.restore_statistics()
        self._info = {
            "hash": self._hash,
            "inputs": [tensor_info(name, value) for name, value in zip(input_names, inputs)
                       if isinstance(value, torch.Tensor)],
            "scalars": [{"name": name, "value": _scalar_text(value)}
                        for name, value in zip(input_names, inputs)
                        if not isinstance(value, torch.Tensor)],
            "parameters": parameter_infos,
            "statistics": [name for name, tensor in self._tensors.items()
                           if tensor.data_ptr() in changed and tensor.numel() > 0],
            "constants": [tensor_info(name, tensor) for name, tensor in lifted.items()],
            "outputs": [tensor_info(f"out{i}", tensor) for i, tensor in enumerate(outputs)],
            "graph_json": "" if graph is None else json.dumps(graph, separators=(",", ":")),
            "export_error": export_error,
        }
        self._tensors.update(lifted)
        del inputs, outputs, lifted
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.empty_cache()

    def _refuse_dropout(self, error, inputs, input_names):
        """Raises Trouble where train mode is why forward draws random numbers. `error`: the export's."""
        what = ""
        if isinstance(error, export.DrawsRandom):
            if error.drops or not self._draws_in_eval(inputs, input_names):
                what = error.op
        else:  # the graph is not known, and the modules must tell
            what = next((type(module).__name__ for module in self._model.modules()
                         if _is_dropping(module)), "")
        if what:
            raise usage(f"{self._file} draws random numbers in train mode ({what}), so that no two runs "
                        f"agree: the preset kernelbench leaves such problems out; use --mode eval.")

    def _draws_in_eval(self, inputs, input_names):
        self._model.eval()
        try:
            export.export(self._model, inputs, input_names, list(self._tensors),
                          by_keyword=self._keywords is not None)
        except export.DrawsRandom:
            return True
        except Exception:
            return False
        finally:
            self._model.train()
        return False

    def info(self):
        return json.dumps(self._info)

    def tensors(self):
        return self._tensors


def _is_dropping(module):
    if isinstance(module, torch.nn.modules.dropout._DropoutNd):
        return module.p > 0
    if isinstance(module, torch.nn.RNNBase):
        return module.dropout > 0 and module.num_layers > 1
    return isinstance(module, torch.nn.MultiheadAttention) and module.dropout > 0


def _scalar_text(value):
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(str(value))  # "inf": JSON has no number for it
    return json.dumps(value)


def load(path, source, class_name, inputs_fn, consts, dtype, device, train):
    return Problem(path, source, class_name, inputs_fn, consts, dtype, device, train)


def warm_up():
    """Imports what the first export and torch.compile would import, by exporting a small model."""
    import torch._dynamo  # noqa: F401
    with torch.no_grad():
        torch.export.export(torch.nn.Linear(1, 1).eval(), (torch.zeros(1, 1),), strict=False)


def version():
    return torch.__version__

"""A workload made ready: machine found, kernels found, launches bound, and what to compile for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import load_machine
from ..dialects.errors import AhbmcError, Fault
from ..passes.pipeline_text import instantiate
from .command_line import word_place
from .kernels import Kernel, find_kernel
from .launches import Bindings, bind_all
from .lowering import Request
from .workload import LaunchSpec, Workload, read_text


@dataclass(frozen=True)
class Prepared:
    """A workload with its machine, kernels and requests: everything that is known before anything is compiled."""

    workload: Workload
    machine: Machine
    machine_name: str
    kernels: tuple[Kernel, ...]
    bindings: Bindings
    requests: tuple[Request, ...]


def prepare(workload: Workload, machine: str | None, pipeline: str | None) -> Prepared:
    """Bind a workload (without contents of tensors); `machine` and `pipeline` go over the file's. Raises AhbmcError."""
    name, place = machine or workload.file.machine, workload.document.at("machine").place
    folder = None if machine else workload.folder
    if machine:
        place = word_place(workload.sources, machine)
    target = load_machine(name, workload.machine_set, folder, place)
    if folder is not None and (folder / name).is_file():
        name = str(folder / name)
    faults: list[Fault] = []
    kernels: list[Kernel] = []
    for launch in workload.launches:
        at = workload.place(launch, "kernel")
        try:
            source = read_text(launch.kernel_file, "kernel file", at)
            kernels.append(find_kernel(source, str(launch.kernel_file), launch.kernel_name, at))
        except AhbmcError as error:
            faults += error.faults
        faults += option_faults(workload, launch)
    if faults:
        raise AhbmcError(*dict.fromkeys(faults))
    bindings = bind_all(workload, target, kernels, values=False)
    requests: list[Request] = []
    for each, launch in zip(bindings.launches, workload.launches, strict=True):
        request = Request(
            each.kernel,
            each.signature,
            each.constants,
            name,
            workload.machine_set,
            launch.pipeline if pipeline is None else pipeline,
            launch.options,
            each.values,
            None if pipeline is not None else workload.node(launch, "pipeline").place,
            each.sharers(target),
            each.programs_per_pe,
            each,
            tuple(requests),
        )
        requests.append(request)
    return Prepared(workload, target, name, tuple(kernels), bindings, tuple(requests))


def option_faults(workload: Workload, launch: LaunchSpec) -> list[Fault]:
    """What is wrong with the pass options of a launch, each at its place in the file."""
    faults: list[Fault] = []
    for pass_name, options in launch.options.items():
        for option, value in options.items():
            node = workload.node(launch, "options", pass_name, option)
            try:
                instantiate((), {pass_name: {option: value}})
            except AhbmcError as error:
                key = workload.node(launch, "options", pass_name).key_place(option)
                at = workload.node(launch, "options").key_place(pass_name)
                for fault in error.faults:
                    unknown = "no pass" in fault.message
                    place = at if unknown else key if "no option" in fault.message else node.place
                    faults.append(replace(fault, place=place))
    return list(dict.fromkeys(faults))

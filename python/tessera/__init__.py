# SPDX-License-Identifier: Apache-2.0
"""Tessera's planner, and its bridge from PyTorch: modules as network files, and plans for them.

    plan = tessera.plan(torchvision.models.resnet50(), (torch.randn(8, 3, 224, 224),), machine="p100", nodes=4)

    program = plan.export_torch("resnet50_on_16")

torch is needed only where a module comes in; network files are planned without.
"""

from .planner import Error, Plan, Program, machines, plan, plan_network, searches

__all__ = [
    "Error",
    "Network",
    "Plan",
    "Program",
    "UnsupportedModule",
    "machines",
    "network_of",
    "plan",
    "plan_network",
    "searches",
]


def __getattr__(name):
    if name in ("Network", "UnsupportedModule", "network_of"):
        from . import from_torch

        return getattr(from_torch, name)
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")

import type { BootEnv, Collection, Machine, ObjectOf, Stage, Workflow } from "../objects.ts";
import type { World } from "../world.ts";
import { readEntry } from "./entries.ts";

export interface Availability {
  readonly Available: boolean;
  readonly Errors: readonly string[];
}

const available: Availability = { Available: true, Errors: [] };

/** Whether every reference of an object resolves to an available object. The renderer checks templates. */
export function availability<C extends Collection>(collection: C, object: ObjectOf[C], world: World): Availability {
  const errors = referenceErrors(collection, object, world);
  return errors.length === 0 ? available : { Available: false, Errors: errors };
}

type Referring = { readonly [C in Collection]?: (object: ObjectOf[C], world: World) => readonly string[] };

const referring: Referring = {
  machines: machineErrors,
  stages: stageErrors,
  workflows: workflowErrors,
  bootenvs: bootEnvErrors,
  profiles: (profile, world) => profileErrors(profile.Profiles, world),
  users: (user, world) =>
    user.Roles.flatMap((role, index) => unusable(world, "roles", role, `Role ${role} (at ${index})`)),
};

const referenceErrors = <C extends Collection>(collection: C, object: ObjectOf[C], world: World): readonly string[] =>
  referring[collection]?.(object, world) ?? [];

/** Returns no message if the object exists and is available. `label` starts the message. */
function unusable(world: World, collection: Collection, key: string, label: string): readonly string[] {
  const found = world.get(collection, key);
  if (found === undefined) return [`${label} does not exist`];
  return found.Available ? [] : [`${label} is not available`];
}

export const stageUseErrors = (name: string, world: World): readonly string[] =>
  name === "" ? [] : unusable(world, "stages", name, `Stage ${name}`);

export function bootEnvUseErrors(name: string, world: World): readonly string[] {
  const found = world.get("bootenvs", name);
  if (found === undefined) return [`Bootenv ${name} does not exist`];
  return found.Available ? [] : [`BootEnv ${name} is not available`];
}

export function workflowUseErrors(machine: string, name: string, world: World): readonly string[] {
  if (name === "") return [];
  const found = world.get("workflows", name);
  if (found === undefined) return [`Workflow ${name} does not exist`];
  return found.Available ? [] : [`Machine ${machine} wants Workflow ${name}, which is not available`];
}

function machineErrors(machine: Machine, world: World): readonly string[] {
  return [
    ...stageUseErrors(machine.Stage, world),
    ...bootEnvUseErrors(machine.BootEnv, world),
    ...workflowUseErrors(machine.Uuid, machine.Workflow, world),
    ...profileErrors(machine.Profiles, world),
    ...taskErrors(machine.Tasks, world),
  ];
}

function stageErrors(stage: Stage, world: World): readonly string[] {
  return [
    ...(stage.BootEnv === "" ? [] : unusable(world, "bootenvs", stage.BootEnv, `BootEnv ${stage.BootEnv}`)),
    ...taskErrors(stage.Tasks, world),
    ...profileErrors(stage.Profiles, world),
  ];
}

function workflowErrors(workflow: Workflow, world: World): readonly string[] {
  return workflow.Stages.flatMap((stage, index) => unusable(world, "stages", stage, `Stage ${stage} (at ${index})`));
}

const profileErrors = (profiles: readonly string[], world: World): readonly string[] =>
  profiles.flatMap((profile, index) => unusable(world, "profiles", profile, `Profile ${profile} (at ${index})`));

/** One lookup per entry: machines are re-evaluated whenever an object they use changes. */
function taskErrors(tasks: readonly string[], world: World): readonly string[] {
  const errors: string[] = [];
  for (const [index, text] of tasks.entries()) {
    const entry = readEntry(text);
    if (entry.kind === "task") errors.push(...unusable(world, "tasks", text, `Task ${text} (at ${index})`));
    else if (entry.kind === "stage") {
      errors.push(...unusable(world, "stages", entry.name, `Stage ${entry.name} (at ${index})`));
    } else if (entry.kind === "bootenv") {
      errors.push(...unusable(world, "bootenvs", entry.name, `BootEnv ${entry.name} (at ${index})`));
    }
  }
  return errors;
}

const networkLoaders = new Set(["pxelinux", "pxelinux-mac", "ipxe", "ipxe-mac"]);

/** A net-bootable boot environment needs an operating system and a boot loader template. */
function bootEnvErrors(bootEnv: BootEnv): readonly string[] {
  const errors: string[] = [];
  if ((bootEnv.OnlyUnknown || bootEnv.Kernel !== "") && bootEnv.OS.Name === "") {
    errors.push(`BootEnv ${bootEnv.Name} can be booted from the network and must have OS.Name`);
  }
  const hasLoader = bootEnv.Templates.some((template) => networkLoaders.has(template.Name));
  if (bootEnv.Kernel !== "" && !hasLoader && bootEnv.Meta["KernelIsLoader"] !== "true") {
    errors.push(`BootEnv ${bootEnv.Name} has a kernel and needs a template named pxelinux or ipxe`);
  }
  return errors;
}

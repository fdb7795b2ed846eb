import { type ModelError, refusal } from "../failure.ts";
import type { Collection, ObjectOf, TemplateInfo } from "../objects.ts";
import type { World } from "../world.ts";
import { keyOf } from "./read.ts";

export interface Reference {
  readonly collection: Collection;
  readonly key: string;
}

interface Using extends Reference {
  /** Display name; machines have one besides their key. */
  readonly name: string;
}

const users = <C extends Collection>(
  world: World,
  collection: C,
  uses: (object: ObjectOf[C]) => boolean,
): readonly Using[] =>
  world
    .all(collection)
    .filter(uses)
    .map((object) => {
      const key = keyOf(collection, object);
      return { collection, key, name: "Name" in object ? object.Name : key };
    });

const hasEntry = (tasks: readonly string[], kind: string, name: string): boolean =>
  tasks.includes(kind === "" ? name : `${kind}:${name}`);

/** Objects that refer to an object directly. Machines refer to every entry of their task lists. */
function usersOf(collection: Collection, key: string, world: World): readonly Using[] {
  switch (collection) {
    case "templates":
      return templateUsers(key, world);
    case "tasks":
      return [
        ...users(world, "tasks", (task) => task.Prerequisites.includes(key)),
        ...users(world, "stages", (stage) => hasEntry(stage.Tasks, "", key)),
        ...users(world, "machines", (machine) => hasEntry(machine.Tasks, "", key)),
      ];
    case "bootenvs":
      return [
        ...users(world, "stages", (stage) => stage.BootEnv === key || hasEntry(stage.Tasks, "bootenv", key)),
        ...users(world, "machines", (machine) => machine.BootEnv === key || hasEntry(machine.Tasks, "bootenv", key)),
      ];
    case "stages":
      return [
        ...users(world, "stages", (stage) => hasEntry(stage.Tasks, "stage", key)),
        ...users(world, "workflows", (workflow) => workflow.Stages.includes(key)),
        ...users(world, "machines", (machine) => machine.Stage === key || hasEntry(machine.Tasks, "stage", key)),
      ];
    case "workflows":
      return users(world, "machines", (machine) => machine.Workflow === key);
    case "profiles":
      return [
        ...users(world, "profiles", (profile) => profile.Profiles.includes(key)),
        ...users(world, "stages", (stage) => stage.Profiles.includes(key)),
        ...users(world, "machines", (machine) => machine.Profiles.includes(key)),
      ];
    case "roles":
      return users(world, "users", (user) => user.Roles.includes(key));
    case "machines":
    case "jobs":
    case "params":
    case "contexts":
    case "users":
    case "plugins":
      return [];
  }
}

/**
 * Objects to re-evaluate after an object was created, changed or deleted: its direct referrers, each after the ones it
 * refers to. Indirect referrers follow once these have changed.
 */
export const dependants = (collection: Collection, key: string, world: World): readonly Reference[] =>
  usersOf(collection, key, world)
    // A missing prerequisite prevents storing a task, so it never affects availability.
    .filter((using) => !(collection === "tasks" && using.collection === "tasks"))
    .map((using) => ({ collection: using.collection, key: using.key }));

/** Finds templates by ID and by a quoted `"ID"` in template text. False positives only cost a re-evaluation. */
function templateUsers(id: string, world: World): readonly Using[] {
  const names = new Set([id]);
  const templates = world.all("templates");
  for (let before = 0; before !== names.size; ) {
    before = names.size;
    for (const template of templates) if (mentionsAny(template.Contents, names)) names.add(template.ID);
  }
  const uses = (infos: readonly TemplateInfo[]): boolean =>
    infos.some((info) => names.has(info.ID) || mentionsAny(info.Contents, names) || mentionsAny(info.Path, names));
  return [
    ...users(world, "tasks", (task) => uses(task.Templates)),
    ...users(world, "stages", (stage) => uses(stage.Templates)),
    ...users(world, "bootenvs", (bootEnv) => uses(bootEnv.Templates) || mentionsAny(bootEnv.BootParams, names)),
  ];
}

function mentionsAny(text: string, names: ReadonlySet<string>): boolean {
  if (!text.includes("{{")) return false;
  for (const name of names) if (text.includes(`"${name}"`) || text.includes(`\`${name}\``)) return true;
  return false;
}

const labels: { readonly [C in Collection]?: string } = {
  tasks: "Task",
  stages: "Stage",
  bootenvs: "BootEnv",
  workflows: "Workflow",
  templates: "Template",
  profiles: "Profile",
  machines: "Machine",
  roles: "Role",
  users: "User",
};

/** Returns the refusal if an object may not be deleted. */
export function inUse(collection: Collection, key: string, world: World): ModelError | undefined {
  if (collection === "profiles" && key === "global") {
    return refusal(422, "ValidationError", collection, key, "Profile global cannot be deleted");
  }
  // Users of a deleted role become unavailable.
  if (collection === "roles") return undefined;
  const label = `${labels[collection] ?? collection} ${key} is in use by`;
  const messages = [
    ...usersOf(collection, key, world).map(
      (using) => `${label} ${(labels[using.collection] ?? using.collection).toLowerCase()} ${using.name}`,
    ),
    ...preferenceUses(collection, key, world).map((name) => `${label} preference ${name}`),
  ].slice(0, mostMessages);
  if (messages.length === 0) return undefined;
  return collection === "profiles"
    ? refusal(422, "ValidationError", collection, key, ...messages)
    : refusal(409, "StillInUseError", collection, key, ...messages);
}

const mostMessages = 20;

function preferenceUses(collection: Collection, key: string, { prefs }: World): readonly string[] {
  const names: { readonly [C in Collection]?: readonly string[] } = {
    bootenvs: ["defaultBootEnv", "unknownBootEnv"],
    stages: ["defaultStage"],
    workflows: ["defaultWorkflow"],
  };
  return (names[collection] ?? []).filter((name) => prefs[name] === key);
}

import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";

export interface PatchOperation {
  readonly [member: string]: JsonValue;
  readonly op: "test" | "add" | "replace" | "remove";
  readonly path: string;
}

export const pointerTo = (key: string): string => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** From one object to another. A test before each replacement and removal detects a change by another client. */
export function patchBetween(from: JsonValue, to: JsonValue, at = ""): readonly PatchOperation[] {
  if (!isJsonObject(from) || !isJsonObject(to)) {
    if (jsonEquals(from, to)) return [];
    return [
      { op: "test", path: at, value: from },
      { op: "replace", path: at, value: to },
    ];
  }
  const changes = Object.keys(from).flatMap((key): readonly PatchOperation[] => {
    const [path, old, fresh] = [at + pointerTo(key), from[key] ?? null, Object.hasOwn(to, key) ? to[key] : undefined];
    if (fresh !== undefined) return patchBetween(old, fresh, path);
    return [
      { op: "test", path, value: old },
      { op: "remove", path },
    ];
  });
  const additions = Object.keys(to)
    .filter((key) => !Object.hasOwn(from, key))
    .map((key): PatchOperation => ({ op: "add", path: at + pointerTo(key), value: to[key] ?? null }));
  return [...changes, ...additions];
}

/** `changes` over `object`: objects are merged, all else is replaced, null removes a member of a map. */
export function merged(object: JsonValue, changes: JsonValue): JsonValue {
  if (!isJsonObject(object) || !isJsonObject(changes)) return changes;
  const members = new Map(Object.entries(object));
  for (const [key, change = null] of Object.entries(changes)) {
    if (change === null) members.delete(key);
    else members.set(key, merged(members.get(key) ?? null, change));
  }
  return Object.fromEntries(members);
}

/** A machine's Tasks: what has begun, what comes in this stage, and from the next stage on. */
export function partsOfTasks(machine: JsonObject): {
  readonly past: readonly string[];
  readonly present: readonly string[];
  readonly future: readonly string[];
} {
  const tasks = Array.isArray(machine["Tasks"]) ? machine["Tasks"].filter((task) => typeof task === "string") : [];
  const current = typeof machine["CurrentTask"] === "number" ? machine["CurrentTask"] : -1;
  const past = tasks.slice(0, current + 1);
  const open = tasks.slice(current + 1);
  const next = open.findIndex((task) => task.startsWith("stage:"));
  return next < 0
    ? { past, present: open, future: [] }
    : { past, present: open.slice(0, next), future: open.slice(next) };
}

/** At an index of the present part, or at its end. Tasks that stand there already are not added again. */
export function withTasks(machine: JsonObject, tasks: readonly string[], offset: number | undefined): JsonObject {
  const { past, present, future } = partsOfTasks(machine);
  const at = Math.min(offset ?? present.length, present.length);
  const there = at === present.length ? present.slice(-tasks.length) : present.slice(at, at + tasks.length);
  if (jsonEquals(there, tasks)) return machine;
  return { ...machine, Tasks: [...past, ...present.slice(0, at), ...tasks, ...present.slice(at), ...future] };
}

/** Each given task is removed once, in their order. */
export function withoutTasks(machine: JsonObject, tasks: readonly string[]): JsonObject {
  const { past, present, future } = partsOfTasks(machine);
  let next = 0;
  const kept = present.filter((task) => {
    if (next >= tasks.length || task !== tasks[next]) return true;
    next++;
    return false;
  });
  return { ...machine, Tasks: [...past, ...kept, ...future] };
}

import { nameErrors } from "./names.ts";

/** An entry of a task list, classified by its prefix. */
export type Entry =
  | { readonly kind: "task" | "stage" | "bootenv" | "context" | "chroot"; readonly name: string }
  | { readonly kind: "action"; readonly plugin?: string; readonly command: string }
  | { readonly kind: "malformed" };

export function readEntry(text: string): Entry {
  const colon = text.indexOf(":");
  if (colon === -1) return { kind: "task", name: text };
  const kind = text.slice(0, colon);
  const name = text.slice(colon + 1);
  switch (kind) {
    case "stage":
    case "bootenv":
    case "context":
    case "chroot":
      return { kind, name };
    case "action":
      return readAction(name);
    default:
      return { kind: "malformed" };
  }
}

function readAction(text: string): Entry {
  const colon = text.indexOf(":");
  return colon === -1
    ? { kind: "action", command: text }
    : { kind: "action", plugin: text.slice(0, colon), command: text.slice(colon + 1) };
}

/** Entries that the server applies itself while looking for the next job. */
export const isRollEntry = (text: string): boolean =>
  text.startsWith("stage:") || text.startsWith("bootenv:") || text.startsWith("context:");

/** Checks the syntax of entries, not their references. In stages, actions must name a plugin. */
export function entryErrors(tasks: readonly string[], owner: "machine" | "stage"): readonly string[] {
  return tasks.flatMap((text, index) => {
    const entry = readEntry(text);
    switch (entry.kind) {
      case "task":
        return nameErrors("Invalid Task", entry.name);
      case "stage":
        return nameErrors("Invalid Stage", entry.name);
      case "bootenv":
        return nameErrors("Invalid BootEnv", entry.name);
      case "action":
        if (entry.plugin === undefined && owner === "stage") return [`Invalid action specifier ${entry.command}`];
        return [
          ...(entry.plugin === undefined ? [] : nameErrors("Invalid Plugin", entry.plugin)),
          ...nameErrors("Invalid Action", entry.command),
        ];
      case "malformed":
        return [`${text} (at ${index}) is malformed`];
      case "context":
      case "chroot":
        return [];
    }
  });
}

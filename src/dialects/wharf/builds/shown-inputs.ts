import { inputsOf } from "./inputs.ts";

// Definitions are large and builds are listed by the hundred: those that were read last are kept with what was found.

/** By the text of a definition, the one that was asked for longest ago first. */
const known = new Map<string, ReadonlySet<string>>();
const mostKnown = 64;

/**
 * Names of inputs whose values anybody may see: those that the definition declares, and not as passwords. Where there is no definition, or none
 * that can be read, nobody knows which are passwords, and no name is among them.
 */
export function shownInputs(definition: string | undefined): ReadonlySet<string> {
  if (definition === undefined || definition === "") return new Set();
  const names = known.get(definition) ?? namesIn(definition);
  known.delete(definition);
  known.set(definition, names);
  for (const oldest of known.keys()) {
    if (known.size <= mostKnown) break;
    known.delete(oldest);
  }
  return names;
}

function namesIn(definition: string): ReadonlySet<string> {
  const declared = inputsOf(definition);
  const inputs = declared.ok ? declared.value : [];
  return new Set(inputs.filter(({ type }) => type !== "password").map(({ name }) => name));
}

import { inputsOf } from "./inputs.ts";

// Definitions are large and builds are listed by the hundred, so recent results are cached.

const known = new Map<string, ReadonlySet<string>>();
const mostKnown = 64;

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

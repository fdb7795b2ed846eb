// An invalid value is reported and the default is used, so that further problems are found.

import type { Result } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { Input } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import type { Related, Scalar } from "../definition/node.ts";
import { asText, resolveNumber } from "../definition/scalar.ts";
import type { Variable } from "./variable.ts";

/** A value as given; for passwords, `read` returns the contents of the named file. */
export type GivenInput = string | { readonly text: string; readonly read: () => Result<string, string> };

export function inputVariables(
  inputs: readonly Input[],
  given: ReadonlyMap<string, GivenInput>,
  reporter: Reporter,
): readonly Variable[] {
  for (const name of given.keys()) {
    if (inputs.some((input) => input.name === name)) continue;
    const meant = nearest(
      name,
      inputs.map((input) => input.name),
    );
    const known = inputs.length === 0 ? "the definition has no inputs" : undefined;
    const hint = meant === undefined ? known : `did you mean "${meant}"?`;
    reporter.error({ scope: "inputs" }, "input-undefined", `there is no input "${name}"`, { hint });
  }
  return inputs.flatMap((input) => {
    const { name, type, initial } = input;
    const more = { name, ...(type === "password" ? { isSecret: true } : {}), definedAt: definition(input) };
    const { tag, text, value } = initial;
    const fallback: Variable = { ...more, tag, text, value, source: "input defaults" };
    const wanted = given.get(name);
    const chosen = wanted === undefined ? undefined : readValue(input, wanted, reporter);
    return chosen === undefined ? [fallback] : [{ ...more, ...chosen, source: "input values" } as const, fallback];
  });
}

const definition = ({ name, at }: Input): Related => ({ message: `the input "${name}" is declared here`, place: at });

/** Undefined, after reporting, if the value does not fit. Only numbers are anything but texts. */
function readValue({ name, type, values = [] }: Input, given: GivenInput, { error }: Reporter): Scalar | undefined {
  const spot = { scope: "inputs" };
  if (type === "password" && typeof given !== "string") {
    const found = given.read();
    if (found.ok) return asText(found.value);
    error(spot, "input-value", `input "${name}": cannot read its file: ${found.error}`);
    return undefined;
  }
  const text = typeof given === "string" ? given : given.text;
  if (type === "number") {
    const number = resolveNumber(text.trim());
    if (number !== undefined) return { ...number, text: decimal(number) };
    error(spot, "input-value", `input "${name}": expected number, found ${JSON.stringify(text)}`);
    return undefined;
  }
  if (type === "choice" && !values.includes(text)) {
    const choices = values.map((value) => JSON.stringify(value)).join(", ");
    error(spot, "choice-value", `input "${name}": expected one of ${choices}, found ${JSON.stringify(text)}`);
    return undefined;
  }
  return asText(text);
}

/** `1e3` becomes 1000. */
const decimal = ({ value }: Scalar): string => {
  const text = String(value);
  return typeof value === "number" && /e/.test(text) && Number.isInteger(value) ? BigInt(value).toString() : text;
};

import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { type CelEnvironment, compileExpression } from "../../index.ts";

const environment: CelEnvironment = { variables: { self: "dyn", text: "string" } };

/** Compiles and evaluates; throws what the compiler says, because a table's expressions are meant to compile. */
export function evaluate(source: string, bindings: JsonObject = {}, costLimit = 100_000) {
  const program = compileExpression(source, environment);
  if (!program.ok) throw new Error(`${program.error.message} at ${program.error.column}`);
  return program.value.evaluate(bindings, { costLimit });
}

/** One test per row: an expression and the JSON of its value. */
export function expectValues(rows: readonly (readonly [source: string, value: JsonValue])[]): void {
  test.each(rows)("%s is %j", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });
}

/** One test for each expression that must be true. */
export function expectTrue(sources: readonly string[]): void {
  test.each(sources)("%s", (source) => {
    expect(evaluate(source)).toEqual({ ok: true, value: true });
  });
}

/** One test per row: an expression and the message with which its evaluation fails. */
export function expectFailures(rows: readonly (readonly [source: string, message: string])[]): void {
  test.each(rows)("%s fails with a message", (source, message) => {
    expect(evaluate(source)).toEqual({ ok: false, error: message });
  });
}

/** One test per row: an expression that does not compile, and the beginning of the reason. */
export function expectRefusals(rows: readonly (readonly [source: string, message: string])[]): void {
  test.each(rows)("%s does not compile", (source, message) => {
    const program = compileExpression(source, environment);
    expect(program.ok ? "it compiles" : program.error.message).toBe(message);
  });
}

/** The units an evaluation costs: the smallest limit under which it ends. */
export function costOf(source: string, bindings: JsonObject = {}): number {
  let [below, enough] = [0, 1 << 24];
  while (enough - below > 1) {
    const middle = Math.floor((below + enough) / 2);
    if (evaluate(source, bindings, middle).ok) enough = middle;
    else below = middle;
  }
  return enough;
}

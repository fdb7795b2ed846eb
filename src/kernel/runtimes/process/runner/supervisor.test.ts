import { Socket } from "node:net";
import { expect, test } from "vitest";
import { reportsOn, supervisedCommand, valuesIn } from "./supervisor.ts";

/** What is understood of these pieces, and of the end after them. */
async function read(...pieces: readonly string[]) {
  const output = new Socket();
  const { started, exited } = reportsOn({ output, release: () => undefined });
  for (const piece of pieces) output.push(piece);
  output.push(null);
  return { failure: await started, exit: await exited };
}

test.each([
  ["a code", ["+\n", "1792\n"], { code: 7, signal: null }],
  ["a report in pieces", ["+\n17", "92", "\n"], { code: 7, signal: null }],
  ["an end whose beginning was read before", ["0\n"], { code: 0, signal: null }],
  ["a signal", ["+\n15\n"], { code: null, signal: "SIGTERM" }],
  ["a signal with a core", ["+\n139\n"], { code: null, signal: "SIGSEGV" }],
  ["a signal without a name", ["+\n63\n"], { code: 191, signal: null }],
  ["a supervisor that was killed", ["+\n"], { code: null, signal: "SIGKILL" }],
  ["a supervisor that was killed at once", [], { code: null, signal: "SIGKILL" }],
  ["what is no report", ["+\n", "seven\n", "\n"], { code: null, signal: "SIGKILL" }],
] as const)("of a program that ran, %s is read", async (_name, pieces, exit) => {
  expect(await read(...pieces)).toEqual({ failure: undefined, exit });
});

test("a program that cannot be started has the system's name for the reason", async () => {
  expect((await read("!2\n")).failure).toMatchObject({ code: "ENOENT" });
  expect((await read("!13\n")).failure).toMatchObject({ code: "EACCES" });
});

test("nothing of a task is on the command line of its supervisor", () => {
  const command = { program: "run-secret", args: ["arg-secret"], cwd: "/", reportsOn3: false };
  const { args, env } = supervisedCommand("/perl", command, { TOKEN: "value-secret" });
  expect(JSON.stringify(args)).not.toContain("secret");
  expect(env).toEqual({ N: "2", A0: "run-secret", A1: "arg-secret", ETOKEN: "value-secret" });
});

test("values that need not be known are none, and those of a process that has ended are unknown", () => {
  expect(valuesIn(2 ** 30, [])).toEqual([]);
  expect(valuesIn(2 ** 30, ["TOKEN"])).toBeUndefined();
});

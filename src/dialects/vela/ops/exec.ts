import { defined, textAt, textsAt } from "#lib/base/index.ts";
import type { UseCaseParts } from "../sources/parts.ts";
import type { Provider } from "./provider.ts";
import { fail, failure } from "./form.ts";
import { durationOf, inputOf, returning } from "./use-case-value.ts";

const minute = 60_000;

/** `exec/run`: a program of this machine, once. Off unless the server allows it. */
export const runProgram =
  ({ allowExec = false }: UseCaseParts): Provider =>
  async (value, scope) => {
    const input = inputOf(value);
    if (!allowExec) return fail("exec: running programs on the server is not allowed");
    const argv = textsAt(input, "command");
    if (argv.length === 0) return failure("command: expected a program and its arguments, found nothing");
    if (input["image"] !== undefined) return failure("image: programs in containers are not supported; use a Job");
    if (input["env"] !== undefined) return failure("env: not supported; use env as the program");
    const timeoutMs = durationOf(input["timeout"], 5 * minute);
    if (timeoutMs === undefined)
      return failure(`timeout: expected a duration such as 5m, found ${JSON.stringify(input["timeout"])}`);
    const directory = textAt(input, "directory");
    const done = await scope.once({
      kind: "command",
      argv,
      timeoutMs,
      ...defined({ directory }),
    });
    return done.kind === "continue" ? returning(done.result ?? {}) : done;
  };

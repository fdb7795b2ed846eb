import { withoutValues } from "#kernel/streams/index.ts";
import type { Task } from "./contract.ts";

export const maskedValues = (names: readonly string[], env: Readonly<Record<string, string>>): readonly string[] =>
  names.flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? [] : [value];
  });

/** Messages about a task may repeat its program, paths and arguments with expanded variables. */
export const withoutMasked = (
  { maskedVariables = [], env }: Pick<Task, "maskedVariables" | "env">,
  text: string,
): string => withoutValues(text, maskedValues(maskedVariables, env));

import { withoutValues } from "#kernel/logs/index.ts";
import type { Task } from "./contract.ts";

/** What is put out of a log: the values that these variables have. */
export const maskedValues = (names: readonly string[], env: Readonly<Record<string, string>>): readonly string[] =>
  names.flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? [] : [value];
  });

/** What is told of a task may repeat its program, paths and arguments, which have variables expanded: without the masked ones. */
export const withoutMasked = (
  { maskedVariables = [], env }: Pick<Task, "maskedVariables" | "env">,
  text: string,
): string => withoutValues(text, maskedValues(maskedVariables, env));

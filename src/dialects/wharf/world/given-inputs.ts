import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { GivenInput } from "../variables/input-variables.ts";

/** Passwords are short; a larger file was not meant. */
const mostBytes = 64 * 1024;

/**
 * Values of inputs as a command line gives them: `@path` may mean the text of a file, relative to the working directory, without the newline at its
 * end. What the value of an input is is known when the definition is read; the file is read then, and only for passwords. Values from elsewhere must
 * not go through here: they would read files of this machine.
 */
export const givenInputs = (
  values: Readonly<Record<string, string>>,
  directory: string,
): ReadonlyMap<string, GivenInput> =>
  new Map(
    Object.entries(values).map(([name, text]): readonly [string, GivenInput] => {
      if (!text.startsWith("@") || text === "@") return [name, text];
      return [name, { text, read: () => readText(resolve(directory, text.slice(1))) }];
    }),
  );

/** The text of a file. A pipe is not waited for. */
function readText(path: string): Result<string, string> {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = fstatSync(file);
      if (!found.isFile()) return err(`${path} is no file`);
      if (found.size > mostBytes) return err(`${path} is larger than 64 KiB`);
      return ok(readFileSync(file, "utf8").replace(/\r?\n$/, ""));
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

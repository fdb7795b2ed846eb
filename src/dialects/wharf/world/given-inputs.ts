import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { GivenInput } from "../variables/input-variables.ts";

const mostBytes = 64 * 1024;

/** Inputs of a command line. `@path` names a file whose text becomes the value of a password; it is read when the
 * definition is. Not for values from elsewhere, which could read local files. */
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

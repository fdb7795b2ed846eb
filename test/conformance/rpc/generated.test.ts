import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Every file below a folder, by its path. */
const filesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]),
  );

test("the messages that are committed are those of the interfaces", async () => {
  const folder = mkdtempSync(`${tmpdir()}/messages-`);
  try {
    await promisify(execFile)(process.execPath, ["scripts/generate-messages.mjs", folder], { cwd: root });
    const committed = filesIn(`${root}src/kernel/rpc/gen`);
    expect(Object.keys(committed).length).toBeGreaterThan(10);
    expect(committed).toEqual(filesIn(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

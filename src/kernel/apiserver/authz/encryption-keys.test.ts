import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readEncryptionKeys } from "./encryption-keys.ts";

let parent: string;
let data: string;
let file: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "slipway-keys-"));
  data = join(parent, "data");
  file = join(parent, "keys");
  await mkdir(data);
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const write = (text: string, path = file) => writeFile(path, text, { mode: 0o600 });
const fresh = () => randomBytes(32).toString("base64");

test("keys are lines; the first is the one that writes", async () => {
  const [one, two] = [fresh(), fresh()];
  await write(`# made today\n\n${one}\n  ${two}  \n`);
  const keys = await readEncryptionKeys(file, data);
  expect(keys.map(({ bytes }) => bytes.toString("base64"))).toEqual([one, two]);
  expect(keys[0]?.id).toHaveLength(8);
  expect(keys[0]?.id.equals(keys[1]?.id ?? Buffer.of())).toBe(false);
});

test.each([
  ["", "holds no key"],
  ["# only a comment\n", "holds no key"],
  ["short\n", ":1: expected a key of 32 bytes as base64"],
  [
    `${Buffer.alloc(32).toString("base64")}\n${Buffer.alloc(31).toString("base64")}\n`,
    ":2: expected a key of 32 bytes",
  ],
  [`${Buffer.alloc(33).toString("base64")}\n`, ":1: expected a key of 32 bytes"],
])("%j is refused: %s", async (text, message) => {
  await write(text);
  await expect(readEncryptionKeys(file, data)).rejects.toMatchObject({
    code: "encryption-key",
    message: expect.stringContaining(message),
  });
});

test("no message repeats a key", async () => {
  const text = `${fresh().slice(0, 40)}\n`;
  await write(text);
  await expect(readEncryptionKeys(file, data)).rejects.toMatchObject({
    message: expect.not.stringContaining(text.trim()),
  });
});

test("a file that others can read, that is missing, or that lies with the data is refused", async () => {
  await write(fresh());
  await chmod(file, 0o640);
  await expect(readEncryptionKeys(file, data)).rejects.toMatchObject({ code: "insecure-permissions" });
  await expect(readEncryptionKeys(join(parent, "none"), data)).rejects.toMatchObject({ code: "encryption-key" });
  await mkdir(join(data, "deep"));
  for (const inside of [join(data, "key"), join(data, "deep", "key")]) {
    await write(fresh(), inside);
    await expect(readEncryptionKeys(inside, data)).rejects.toMatchObject({
      message: expect.stringContaining("inside the data directory"),
    });
  }
  const link = join(parent, "link");
  await symlink(join(data, "key"), link);
  await expect(readEncryptionKeys(link, data)).rejects.toMatchObject({ code: "encryption-key" });
  await write(fresh(), join(parent, "data-key"));
  expect(await readEncryptionKeys(join(parent, "data-key"), data)).toHaveLength(1);
});

import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  exec,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Secrets on the disk of a real server that is killed, restarted, and given other keys.

const value = "a value that nobody may find on the disk";
const newKey = (): string => randomBytes(32).toString("base64");
const [first, second] = [newKey(), newKey()];

let directory: string;
let keyFile: string;
let server: TestServer;
beforeAll(async () => {
  directory = await temporaryDirectory();
  keyFile = join(directory, "key");
  await useKeys(first);
  server = await start();
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const useKeys = (...keys: readonly string[]): Promise<void> =>
  writeFile(keyFile, `${keys.join("\n")}\n`, { mode: 0o600 });
const data = (): string => join(directory, "data");
const start = (): Promise<TestServer> => startServer(data(), ["--encryption-key-file", keyFile]);
/** A start that should fail, and what it says. */
const refusedStart = (...args: readonly string[]) => slipway(["up", "--data-dir", data(), "--port", "0", ...args]);
const kubectl = (...args: readonly string[]) => exec("kubectl", ["--kubeconfig", server.kubeconfig, ...args]);
async function secretValue(): Promise<string> {
  const { out, err } = await kubectl("get", "secret", "s", "-o", "jsonpath={.data.k}");
  return Buffer.from(out, "base64").toString() || err;
}
/** Whether the text, or its base64, stands in a file of the store. */
async function isOnDisk(text: string): Promise<boolean> {
  const files = await readdir(join(data(), "store"), { recursive: true, withFileTypes: true });
  const contents = files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name)));
  const bytes = Buffer.concat(await Promise.all(contents));
  return [text, Buffer.from(text).toString("base64")].some((form) => bytes.includes(form));
}

test("a Secret is on the disk in no form that can be read, and is there after a kill", async () => {
  const made = await kubectl("create", "secret", "generic", "s", `--from-literal=k=${value}`);
  expect(made.code, made.err).toBe(0);
  const plain = await kubectl("create", "configmap", "c", "--from-literal=k=what stands there as it is");
  expect(plain.code, plain.err).toBe(0);
  await server.kill();
  expect(await isOnDisk("what stands there as it is")).toBe(true);
  expect(await isOnDisk(value)).toBe(false);
  server = await start();
  expect(await secretValue()).toBe(value);
});

test("without the key, and with another, a server does not start and says why", async () => {
  await server.stop();
  const without = await refusedStart();
  expect([without.code, without.out]).toEqual([expect.any(Number), ""]);
  expect(without.code).not.toBe(0);
  expect(without.err).toMatch(/encrypt/);
  await useKeys(newKey());
  const other = await refusedStart("--encryption-key-file", keyFile);
  expect(other.code).not.toBe(0);
  expect(other.err).toMatch(/key/);
  for (const { err } of [without, other]) expect(err).not.toContain(first);
});

test("a new key in front encrypts anew, after which the old one may go", async () => {
  await useKeys(second, first);
  server = await start();
  expect(await secretValue()).toBe(value);
  await server.stop();
  await useKeys(second);
  server = await start();
  expect(await secretValue()).toBe(value);
  await server.stop();
  await useKeys(first);
  expect((await refusedStart("--encryption-key-file", keyFile)).code).not.toBe(0);
  await useKeys(second);
  server = await start();
});

test("a key file that others can read is refused", async () => {
  await server.stop();
  const open = join(directory, "open-key");
  await writeFile(open, `${second}\n`, { mode: 0o644 });
  const refused = await refusedStart("--encryption-key-file", open);
  expect([refused.code, refused.err]).toEqual([
    expect.any(Number),
    expect.stringContaining("can be used by other users"),
  ]);
  server = await start();
});

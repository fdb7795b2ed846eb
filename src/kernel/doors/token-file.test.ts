import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readTokenFile, serverToken } from "./token-file.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-token-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function read(text: string): Promise<string> {
  const file = join(directory, "token");
  await writeFile(file, text);
  return await readTokenFile(file, "--wharf-auth-token-file");
}

test("white space around a token is not part of it", async () => {
  expect(await read(" !a-Z_0.9~=\r\n\n")).toBe("!a-Z_0.9~=");
});

test.each([
  ["nothing", " \n"],
  ["several words or lines", "one two"],
  ["several words or lines", "one\ntwo\n"],
  ["characters other than visible ASCII", "gr\u00fc\u00df"],
  ["characters other than visible ASCII", "a\u0000b"],
  ["characters other than visible ASCII", "a\u007fb"],
  ["more than 4096 characters", "x".repeat(4097)],
])("a file with %s has no token", async (problem, text) => {
  const refused = {
    code: "auth-token",
    message: expect.stringContaining(`expected a token, found ${problem}`) as string,
  };
  await expect(read(text)).rejects.toMatchObject(refused);
});

test("a file that is not there is told with its flag", async () => {
  await expect(readTokenFile(join(directory, "none"), "--auth-token-file")).rejects.toMatchObject({
    code: "auth-token",
    message: expect.stringMatching(/^--auth-token-file: cannot read the token: /) as string,
  });
});

test("a server without a named file keeps a random token that only its user can read, over restarts", async () => {
  const place = join(directory, "server");
  const [first, second] = await Promise.all([serverToken(place), serverToken(place)]);
  expect(second).toEqual(first);
  expect(first.token).toMatch(/^[\w-]{43}$/);
  expect((await stat(first.file)).mode & 0o777).toBe(0o600);
  expect(await readdir(place)).toEqual(["auth-token"]);
  expect(await serverToken(place)).toEqual(first);
  expect((await serverToken(join(directory, "other"))).token).not.toBe(first.token);
  await chmod(first.file, 0o640);
  await expect(serverToken(place)).rejects.toMatchObject({ code: "insecure-permissions" });
});

test("a server with a named file has its token", async () => {
  const file = join(directory, "named");
  await writeFile(file, "mine\n");
  expect(await serverToken(join(directory, "unused"), file, "--flag")).toEqual({ token: "mine", file });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readTokenFile } from "./token-file.ts";

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
  ["characters that no request can bear", "gr\u00fc\u00df"],
  ["characters that no request can bear", "a\u0000b"],
  ["characters that no request can bear", "a\u007fb"],
  ["more than 4096 characters", "x".repeat(4097)],
])("a file with %s has no token", async (problem, text) => {
  const refused = {
    code: "wharf-token",
    message: expect.stringContaining(`expected a token, found ${problem}`) as string,
  };
  await expect(read(text)).rejects.toMatchObject(refused);
});

test("a file that is not there is told with its flag", async () => {
  await expect(readTokenFile(join(directory, "none"), "--auth-token-file")).rejects.toMatchObject({
    code: "wharf-token",
    message: expect.stringMatching(/^--auth-token-file: cannot read the token: /) as string,
  });
});

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readYaml } from "#lib/yaml/index.ts";
import { readKubeconfigToken, writeKubeconfig } from "./kubeconfig.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "slipway-kubeconfig-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const content = { url: "https://127.0.0.1:6443", caPem: "PEM", token: "secret" };

test("the file is its owner's alone, whole, and names cluster, user and context", async () => {
  const file = join(dir, "deep", "kubeconfig");
  await writeKubeconfig(file, content);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(dir, "deep"))).toEqual(["kubeconfig"]);
  const read = readYaml(await readFile(file, "utf8"));
  expect(read.ok && read.value.documents[0]?.value).toMatchObject({
    kind: "Config",
    "current-context": "slipway",
    clusters: [
      { cluster: { server: content.url, "certificate-authority-data": Buffer.from("PEM").toString("base64") } },
    ],
    users: [{ user: { token: "secret" } }],
    contexts: [{ name: "slipway", context: { cluster: "slipway", namespace: "default" } }],
  });
});

test("an older file is replaced, and its token can be read before", async () => {
  const file = join(dir, "kubeconfig");
  await writeKubeconfig(file, content);
  expect(await readKubeconfigToken(file)).toBe("secret");
  await writeKubeconfig(file, { ...content, token: "other" });
  expect(await readKubeconfigToken(file)).toBe("other");
});

test("a file that is missing or something else has no token", async () => {
  const file = join(dir, "other");
  expect(await readKubeconfigToken(file)).toBeUndefined();
  for (const text of ["", "a: [", "users: 7", "users: [{user: {}}]", "- x"]) {
    await writeFile(file, text);
    expect(await readKubeconfigToken(file)).toBeUndefined();
  }
});

import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readYaml } from "#lib/yaml/index.ts";
import { kubeconfigOf, readKubeconfigToken, writeKubeconfig } from "./kubeconfig.ts";

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

test("a draft that an earlier life of this process left does not stand in the way, and is not read by others", async () => {
  const file = join(dir, "kubeconfig");
  await writeFile(`${file}.${process.pid}.tmp`, "half", { mode: 0o644 });
  await writeKubeconfig(file, content);
  expect(await readKubeconfigToken(file)).toBe("secret");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(dir)).toEqual(["kubeconfig"]);
});

test("a file that was open to others is its owner's alone afterwards", async () => {
  const file = join(dir, "kubeconfig");
  await writeFile(file, "users: []", { mode: 0o644 });
  await writeKubeconfig(file, content);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a write that fails leaves the old file and no draft", async () => {
  const file = join(dir, "kubeconfig");
  await mkdir(file);
  await expect(writeKubeconfig(file, content)).rejects.toThrow();
  expect(await readdir(dir)).toEqual(["kubeconfig"]);
});

test("a file that cannot be read is an error, not a missing token", async () => {
  await expect(readKubeconfigToken(dir)).rejects.toMatchObject({ code: "EISDIR" });
});

test("what clients of all kinds must understand is plain data", () => {
  expect(kubeconfigOf({ url: "https://[::1]:7443", caPem: "ä", token: 'quote"and: colon' })).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "slipway", cluster: { server: "https://[::1]:7443", "certificate-authority-data": "w6Q=" } }],
    users: [{ name: "slipway-admin", user: { token: 'quote"and: colon' } }],
    contexts: [{ name: "slipway", context: { cluster: "slipway", user: "slipway-admin", namespace: "default" } }],
    "current-context": "slipway",
  });
});

test("with a certificate it is the default, and the token has a context of its own", async () => {
  const client = { cert: "C", key: "K" };
  expect(kubeconfigOf({ ...content, client })).toMatchObject({
    users: [
      { name: "slipway-admin", user: { "client-certificate-data": "Qw==", "client-key-data": "Sw==" } },
      { name: "slipway-token", user: { token: "secret" } },
    ],
    contexts: [
      { name: "slipway", context: { user: "slipway-admin" } },
      { name: "slipway-token", context: { cluster: "slipway", user: "slipway-token" } },
    ],
    "current-context": "slipway",
  });
  const file = join(dir, "kubeconfig");
  await writeKubeconfig(file, { ...content, client });
  expect(await readKubeconfigToken(file)).toBe("secret");
});

test("a token of any characters survives the file", async () => {
  const file = join(dir, "kubeconfig");
  for (const token of ["no", "0x1f", "1e3", "~", 'quote"and: colon', "- dash", "#hash"]) {
    await writeKubeconfig(file, { ...content, token });
    expect(await readKubeconfigToken(file)).toBe(token);
  }
});

import { expect, test } from "vitest";
import { type Connection, fixedCredential } from "#kernel/kit/index.ts";
import { valueOf } from "../testing/fixtures.ts";
import { clusterOf, clusterSecret, credentialType, readCluster } from "./cluster-secret.ts";

const connection = (credential: object, more: Partial<Connection> = {}): Connection => ({
  server: "https://east.example:6443",
  certificateAuthority: "CA",
  credentials: fixedCredential(credential),
  ...more,
});
const join = (of: Connection) =>
  clusterSecret({ name: "east", namespace: "vela-system", labels: { region: "east" }, connection: of });

test.each([
  ["ServiceAccountToken", { token: "t" }],
  ["X509Certificate", { certificate: "C", key: "K" }],
])("a cluster with a %s is read as it was joined", async (type, credential) => {
  const secret = valueOf(await join(connection(credential)));
  expect(secret.metadata.labels?.[credentialType]).toBe(type);
  expect(clusterOf(secret)).toEqual({ name: "east", labels: { region: "east" } });
  const read = valueOf(readCluster(secret));
  expect(read).toMatchObject({ server: "https://east.example:6443", certificateAuthority: "CA" });
  expect(read.skipTlsVerify).toBeUndefined();
  expect(await read.credentials.get()).toEqual(credential);
});

test("a kubeconfig that skips verification gives a cluster that does, too", async () => {
  const secret = valueOf(await join(connection({ token: "t" }, { skipTlsVerify: true })));
  expect(valueOf(readCluster(secret)).skipTlsVerify).toBe(true);
});

test("bad input: a Secret that lacks something is refused by the name of its member, without values", () => {
  const secret = (labels: Record<string, string>, data: Record<string, string>) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "east", labels },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
  });
  const refusal = (labels: Record<string, string>, data: Record<string, string>) => {
    const read = readCluster(secret(labels, data));
    return read.ok ? undefined : read.error;
  };
  const account = { [credentialType]: "ServiceAccountToken" };
  const endpoint = "https://x";
  expect(refusal(account, { token: "hunter2" })).toBe("cluster east: its Secret has no endpoint");
  expect(refusal(account, { endpoint: "::", token: "hunter2" })).toBe(
    "cluster east: the endpoint in its Secret is not a URL",
  );
  expect(refusal(account, { endpoint })).toBe("cluster east: its Secret has no token");
  expect(refusal({}, { endpoint, "tls.crt": "C" })).toBe("cluster east: its Secret has no tls.key");
});

test("bad input: a kubeconfig without a lasting credential is refused", async () => {
  expect(await join(connection({}))).toMatchObject({ ok: false, error: expect.stringContaining("no token") as string });
  expect(await join(connection({ basic: { username: "a", password: "hunter2" } }))).toEqual({
    ok: false,
    error: "the kubeconfig has no token and no client certificate; commands and passwords are not supported",
  });
});

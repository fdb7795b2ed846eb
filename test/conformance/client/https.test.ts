import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { loadX509 } from "#kernel/doors/index.ts";
import { describeServerSideApply } from "#kernel/kit/client/apply.contract.ts";
import { describeApiClient } from "#kernel/kit/client/client.contract.ts";
import { fixedCredential, InformerFactory } from "#kernel/kit/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { type ContractServer, fixtureOn, httpsClient, startContractServer } from "./server-fixture.ts";

let server: ContractServer;
beforeAll(async () => {
  server = await startContractServer();
});
afterAll(() => server.close());

describeApiClient("over HTTPS", () => fixtureOn(server, httpsClient(server)));
describeServerSideApply("over HTTPS", () => fixtureOn(server, httpsClient(server)));

test("a server whose authority the kubeconfig does not name is not trusted", async () => {
  const { createAuthority } = await loadX509();
  const stranger = await createAuthority(systemClock.now(), "somebody-else");
  const client = httpsClient(server, { certificateAuthority: stranger.cert });
  await expect(client.raw("/version")).rejects.toMatchObject({
    code: "certificate-untrusted",
    hint: expect.any(String),
  });
  await client.close();
  const careless = httpsClient(server, { certificateAuthority: stranger.cert, skipTlsVerify: true });
  expect(await careless.raw("/readyz")).toBe("ok");
  await careless.close();
});

test("a certificate for another name is told apart, and tls-server-name names the expected one", async () => {
  const wrong = httpsClient(server, { tlsServerName: "elsewhere.example.org" });
  await expect(wrong.raw("/version")).rejects.toMatchObject({ code: "certificate-name" });
  const right = httpsClient(server, { tlsServerName: "localhost" });
  expect(await right.raw("/readyz")).toBe("ok");
  await Promise.all([wrong.close(), right.close()]);
});

test("without a valid token nothing is told", async () => {
  const client = httpsClient(server, { credentials: fixedCredential({ token: "guess" }) });
  await expect(client.list(ConfigMap)).rejects.toMatchObject({ reason: "Unauthorized", code: 401 });
  await client.close();
});

test("an informer over HTTPS follows the server", async () => {
  const clock = new FakeClock();
  const client = httpsClient(server);
  const factory = new InformerFactory({ client, clock, log: silentLog, random: () => 0 });
  const { informer } = factory.acquire<KubeObject & { data: Record<string, string> }>(ConfigMap, {
    namespace: "default",
  });
  await informer.synced(AbortSignal.timeout(40_000));
  const metadata = { name: "followed", namespace: "default" };
  const created = await client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { v: "1" } });
  await expect.poll(() => informer.get("default/followed")).toEqual(created);
  await client.delete({ type: ConfigMap, namespace: "default", name: "followed" });
  await expect.poll(() => informer.get("default/followed")).toBeUndefined();
  await factory.close();
  await client.close();
});

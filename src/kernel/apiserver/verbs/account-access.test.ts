import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { type KubeObject, Namespace, Pod, ServiceAccount } from "#kernel/model/index.ts";
import { memoryStore } from "../store/open.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { accountPath } from "./account-access.ts";

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function open(mountsAccountTokens = true) {
  const clock = new FakeClock();
  const store = memoryStore({ clock, log: silentLog });
  server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0", mountsAccountTokens });
  return server.client();
}

const podOf = (spec: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default" },
  spec: { containers: [{ name: "c", image: "x" }], initContainers: [{ name: "i", image: "x" }], ...spec },
});
/** Names of the mounts at the place of credentials, and of the volumes. */
function accessIn(pod: object) {
  const { spec } = pod as { spec: { containers: JsonObject[]; initContainers: JsonObject[]; volumes?: JsonObject[] } };
  const mounts = [...spec.containers, ...spec.initContainers].flatMap(
    ({ volumeMounts }) => (volumeMounts ?? []) as JsonObject[],
  );
  return {
    mounts: mounts.filter(({ mountPath }) => mountPath === accountPath).map(({ name }) => name),
    volumes: (spec.volumes ?? []).map(({ name }) => name),
  };
}
const account = (name: string, automountServiceAccountToken: boolean): KubeObject & JsonObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "default" },
  automountServiceAccountToken,
});

test("every container of a Pod finds its account's credentials in its files, as Kubernetes mounts them", async () => {
  const client = await open();
  const pod = await client.create(Pod, podOf());
  const { mounts, volumes } = accessIn(pod);
  expect(volumes).toEqual([expect.stringMatching(/^kube-api-access-[a-z0-9]{5}$/)]);
  expect(mounts).toEqual([volumes[0], volumes[0]]);
  expect(pod).toMatchObject({
    spec: {
      volumes: [
        {
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
    },
  });
});

test.each([true, false])(
  "a Pod that names no pull secrets has its account's (tokens are mounted: %s)",
  async (mounts) => {
    const client = await open(mounts);
    await client.create(ServiceAccount, {
      ...account("puller", true),
      imagePullSecrets: [{ name: "a" }, { name: "b" }],
    });
    const secretsOf = async (spec: object) => {
      const pod = await client.create(Pod, podOf({ serviceAccountName: "puller", ...spec }), { dryRun: true });
      return (pod as { spec: { imagePullSecrets?: unknown } }).spec.imagePullSecrets;
    };
    expect(await secretsOf({})).toEqual([{ name: "a" }, { name: "b" }]);
    expect(await secretsOf({ imagePullSecrets: [] })).toEqual([{ name: "a" }, { name: "b" }]);
    expect(await secretsOf({ imagePullSecrets: [{ name: "own" }] })).toEqual([{ name: "own" }]);
    expect(await secretsOf({ serviceAccountName: "default" })).toBeUndefined();
  },
);

test("the Pod's word counts before its account's", async () => {
  const client = await open();
  await client.create(ServiceAccount, account("shy", false));
  const access = async (spec: object) =>
    accessIn(await client.create(Pod, podOf(spec), { dryRun: true })).mounts.length;
  expect(await access({ automountServiceAccountToken: false })).toBe(0);
  expect(await access({ serviceAccountName: "shy" })).toBe(0);
  expect(await access({ serviceAccountName: "shy", automountServiceAccountToken: true })).toBe(2);
});

test.each([true, false])(
  "a Pod of an account that does not exist is refused (tokens are mounted: %s)",
  async (mounts) => {
    const client = await open(mounts);
    const refused = client.create(Pod, podOf({ serviceAccountName: "builder" }));
    await expect(refused).rejects.toMatchObject({
      code: 403,
      reason: "Forbidden",
      message:
        'pods "p" is forbidden: error looking up service account default/builder: serviceaccount "builder" not found',
    });
    await client.create(ServiceAccount, account("builder", true));
    await client.create(Pod, podOf({ serviceAccountName: "builder" }));
  },
);

test("a namespace comes with its account: Pods need not wait for it", async () => {
  const client = await open();
  const names = ["a", "b", "c"];
  const pod = (namespace: string) => ({ ...podOf(), metadata: { name: "p", namespace } });
  const created = names.map(async (name) => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return client.create(Pod, pod(name));
  });
  expect(await Promise.all(created)).toHaveLength(3);
  const dry = { apiVersion: "v1", kind: "Namespace", metadata: { name: "d" } };
  await client.create(Namespace, dry, { dryRun: true });
  expect((await client.list(ServiceAccount, { namespace: "d" })).items).toEqual([]);
});

test("a container that has something at the place keeps it, and a Pod that has it everywhere gets no volume", async () => {
  const client = await open();
  const volumeMounts = [{ name: "mine", mountPath: accountPath }];
  const volumes = [{ name: "mine", emptyDir: {} }];
  const containers = [{ name: "c", image: "x", volumeMounts }];
  const one = accessIn(await client.create(Pod, podOf({ containers, volumes }), { dryRun: true }));
  expect(one.mounts).toEqual(["mine", expect.stringMatching(/^kube-api-access-/)]);
  const all = accessIn(await client.create(Pod, podOf({ containers, volumes, initContainers: [] }), { dryRun: true }));
  expect(all).toEqual({ mounts: ["mine"], volumes: ["mine"] });
});

test("where containers cannot show files, Pods are as they were sent", async () => {
  const client = await open(false);
  expect(accessIn(await client.create(Pod, podOf()))).toEqual({ mounts: [], volumes: [] });
});

import { type JsonObject, listAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { forbidden, generatedName, Pod } from "#kernel/model/index.ts";
import { mapItems, mapMember, withMembers } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreKey, Transaction } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { metaText } from "./metadata.ts";

// Kubernetes' ServiceAccount admission: by default a Pod finds a token for the API server in its files.

export const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An hour and seven seconds, by which people recognize the default token. */
const defaultSeconds = 3607;
const defaultMode = 0o644;

const isPod = ({ type }: ServedResource): boolean => type.plural === Pod.plural && type.group === Pod.group;

const accountOf = (pod: JsonObject): string => textAt(pod, "spec", "serviceAccountName") ?? "default";

const accountKey = (pod: JsonObject): StoreKey => ({
  group: "",
  resource: "serviceaccounts",
  namespace: metaText(pod, "namespace"),
  name: accountOf(pod),
});

/** 403 for a Pod whose account does not exist, in Kubernetes' words. */
export function checkAccount(transaction: Transaction, resource: ServedResource, pod: JsonObject): void {
  if (!isPod(resource) || transaction.head(accountKey(pod)) !== undefined) return;
  const { namespace, name } = accountKey(pod);
  const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
  throw forbidden(resource.type, metaText(pod, "name"), why);
}

/** The Pod with its account's `imagePullSecrets`, if it names none itself. */
export function withPullSecrets(transaction: Transaction, resource: ServedResource, pod: JsonObject): JsonObject {
  if (!isPod(resource) || listAt(pod, "spec", "imagePullSecrets").length > 0) return pod;
  const imagePullSecrets = listAt(transaction.head(accountKey(pod))?.object(), "imagePullSecrets");
  return imagePullSecrets.length === 0
    ? pod
    : mapMember(pod, "spec", (spec) => withMembers(spec, { imagePullSecrets }));
}

/** The Pod with its account's credentials mounted where nothing is; unchanged if Pod or account opts out. */
export function withAccountAccess(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  pod: JsonObject,
): JsonObject {
  if (context.mountsAccountTokens !== true || !isPod(resource)) return pod;
  const ofAccount = valueAt(transaction.head(accountKey(pod))?.object(), "automountServiceAccountToken");
  const wants = valueAt(pod, "spec", "automountServiceAccountToken") ?? ofAccount;
  return wants === false ? pod : mapMember(pod, "spec", (spec) => withCredentials(spec, context.random));
}

function withCredentials(spec: JsonObject, random: () => number): JsonObject {
  const volumes = objectsAt(spec, "volumes");
  const own = volumes.find((volume) => textAt(volume, "name")?.startsWith("kube-api-access-") === true);
  const name = textAt(own, "name") ?? generatedName("kube-api-access-", random);
  const mount = { name, mountPath: accountPath, readOnly: true };
  const mounted = ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, (container) => withMount(container, mount)),
    spec,
  );
  const isUsed = mounted !== spec;
  return isUsed && own === undefined ? withMembers(mounted, { volumes: [...volumes, credentials(name)] }) : mounted;
}

function withMount(container: JsonObject, mount: JsonObject): JsonObject {
  const mounts = objectsAt(container, "volumeMounts");
  if (mounts.some((one) => textAt(one, "mountPath") === accountPath)) return container;
  return withMembers(container, { volumeMounts: [...mounts, mount] });
}

const credentials = (name: string): JsonObject => ({
  name,
  projected: {
    defaultMode,
    sources: [
      { serviceAccountToken: { expirationSeconds: defaultSeconds, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  },
});

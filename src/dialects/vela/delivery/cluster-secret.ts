import { defined, err, objectAt, ok, type Result, textAt } from "#lib/base/index.ts";
import { type Connection, type Credential, fixedCredential, secretData, secretText } from "#kernel/kit/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { KnownCluster } from "./delivery.ts";

/** Secrets with this label in the system namespace are clusters. */
export const credentialType = "cluster.core.oam.dev/cluster-credential-type";
const endpointType = "cluster.core.oam.dev/cluster-endpoint-type";

/** The connection of a cluster's Secret; the error names what is missing, never a value. */
export function readCluster(secret: KubeObject): Result<Connection, string> {
  const { name = "", labels = {} } = secret.metadata;
  const data = (key: string) => secretText(secret, key);
  const lacking = (key: string) => err(`cluster ${name}: its Secret has no ${key}`);
  const server = data("endpoint");
  if (server === undefined) return lacking("endpoint");
  if (!URL.canParse(server)) return err(`cluster ${name}: the endpoint in its Secret is not a URL`);
  const credential = ((): Credential | string => {
    if (labels[credentialType] === "ServiceAccountToken") {
      const token = data("token");
      return token === undefined ? "token" : { token: token.trim() };
    }
    const [certificate, key] = [data("tls.crt"), data("tls.key")];
    if (certificate === undefined) return "tls.crt";
    return key === undefined ? "tls.key" : { certificate, key };
  })();
  if (typeof credential === "string") return lacking(credential);
  const certificateAuthority = data("ca.crt") ?? data("ca");
  return ok({
    server,
    credentials: fixedCredential(credential),
    ...defined({ certificateAuthority }),
    ...(textAt(objectAt(asJson(secret), "metadata", "annotations"), skipVerification) === "true"
      ? { skipTlsVerify: true }
      : {}),
  });
}

/** Annotation of a cluster whose certificate is not verified, as its kubeconfig asks. */
const skipVerification = "slipway.dev/insecure-skip-tls-verify";

/** Labels for selectors, without those that say what the Secret is. */
export function clusterOf({ metadata }: KubeObject): KnownCluster {
  const own = Object.entries(metadata.labels ?? {}).filter(([key]) => !key.startsWith("cluster.core.oam.dev/"));
  return { name: metadata.name ?? "", labels: Object.fromEntries(own) };
}

export interface JoinRequest {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly connection: Connection;
}

/** The Secret of a cluster. Only fixed credentials outlive the command line: a token, or a certificate with its key. */
export async function clusterSecret({
  name,
  namespace,
  labels,
  connection,
}: JoinRequest): Promise<Result<KubeObject, string>> {
  const { token, certificate, key } = await connection.credentials.get();
  if (connection.socketPath !== undefined)
    return err("the kubeconfig names a Unix socket, which controllers cannot reach");
  const hasCertificate = certificate !== undefined && key !== undefined;
  if (token === undefined && !hasCertificate)
    return err("the kubeconfig has no token and no client certificate; commands and passwords are not supported");
  const values: Record<string, string> = {
    endpoint: connection.server,
    ...defined({ "ca.crt": connection.certificateAuthority }),
    ...(token !== undefined ? { token } : hasCertificate ? { "tls.crt": certificate, "tls.key": key } : {}),
  };
  const content = { type: "Opaque", data: secretData(values) };
  return ok({
    ...content,
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace,
      labels: {
        ...labels,
        [credentialType]: token === undefined ? "X509Certificate" : "ServiceAccountToken",
        [endpointType]: "Const",
      },
      ...(connection.skipTlsVerify === true ? { annotations: { [skipVerification]: "true" } } : {}),
    },
  });
}

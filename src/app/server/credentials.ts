import { exists } from "#lib/base/index.node.ts";
import { X509Certificate } from "node:crypto";
import { type Instant, SlipwayError } from "#lib/base/index.ts";
import {
  Credential,
  credentialHash,
  issueClientCertificate,
  type KubeconfigContent,
  newCredential,
  newToken,
  writeKubeconfig,
} from "#kernel/apiserver/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";

// Credentials of `slipway credential`. Secrets are created locally; the server receives hashes.

/** Without `until` the credential is valid until it is revoked. */
export interface CredentialRequest {
  readonly user: string;
  readonly groups: readonly string[];
  readonly until?: Instant;
  readonly description?: string;
}

/** The secret, and the name of the object to delete to revoke it. */
export interface IssuedCredential {
  readonly name: string;
  readonly secret: { readonly token: string } | { readonly cert: string; readonly key: string };
}

export async function issueToken(client: ApiClient, request: CredentialRequest): Promise<IssuedCredential> {
  const token = newToken();
  const made = newCredential({ ...request, form: "Token", sha256: credentialHash(token) });
  const { metadata } = await client.create(Credential, made);
  return { name: metadata.name, secret: { token } };
}

/** A new client certificate by the authority in the server's `directory`. A different `ca` is refused. */
export async function issueCertificate(
  client: ApiClient,
  { directory, ca }: { readonly directory: string; readonly ca: string | undefined },
  request: CredentialRequest & { readonly until: Instant },
  now: Instant,
): Promise<IssuedCredential> {
  const { user, groups, until } = request;
  const days = (until - now) / 86_400_000;
  const subject = { user, groups, isRevocable: true };
  const { ca: own, cert, key } = await issueClientCertificate(`${directory}/pki`, subject, now, days);
  if (ca?.trim() !== own.trim())
    throw new SlipwayError("other-authority", `${directory} is not the data directory of the server that was named`, {
      hint: "name that of the server with --data-dir, or make a token, which needs no directory",
    });
  const sha256 = credentialHash(new X509Certificate(cert).raw);
  const { metadata } = await client.create(
    Credential,
    newCredential({ ...request, form: "ClientCertificate", sha256 }),
  );
  return { name: metadata.name, secret: { cert, key } };
}

/** Rejects with `file-exists`. */
export async function expectNoFile(file: string): Promise<void> {
  if (await exists(file))
    throw new SlipwayError("file-exists", `${file} already exists`, { hint: "--force replaces it" });
}

/** Writes a kubeconfig for the credential, for its owner only (0600). */
export async function writeCredential(
  file: string,
  server: Pick<KubeconfigContent, "url" | "caPem">,
  user: string,
  { secret }: IssuedCredential,
): Promise<void> {
  await writeKubeconfig(file, { ...server, user, ...("token" in secret ? secret : { client: secret }) });
}

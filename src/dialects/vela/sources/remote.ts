import { realpath, writeFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defined, err, type JsonObject, messageOf, objectAt, ok, type Result, textAt } from "#lib/base/index.ts";
import { getOrUndefined, secretText } from "#kernel/kit/index.ts";
import { Secret } from "#kernel/model/index.ts";
import type { EgressRules } from "#kernel/couriers/index.ts";
import { type GitRemote, hostOf, readSourceUrl, type SourceUrl } from "#kernel/git/index.ts";
import type { SourceScope, UseCaseParts } from "./parts.ts";

interface Credential {
  readonly user?: string;
  readonly password?: string;
  readonly sshKey?: string;
  readonly knownHosts?: string;
}

/**
 * The repository at an address with its credentials. Keys are files in `directory`, which the caller removes. Texts of
 * errors have no credentials in them.
 */
export async function openRemote(
  address: string,
  credentials: JsonObject | undefined,
  directory: string,
  scope: SourceScope,
  parts: UseCaseParts,
): Promise<Result<GitRemote, string>> {
  const roots = parts.localRoots ?? [];
  const rule = { allowLocal: roots.length > 0, allowedBy: "the option for local sources" };
  const source = readSourceUrl(address, rule);
  if (!source.ok) return source;
  if (source.value.scheme === "file") {
    const path = await localPath(source.value.url, roots);
    if (!path.ok) return path;
  }
  const placed = parts.egress === undefined ? ok({ source: source.value }) : await placeOf(source.value, parts.egress);
  if (!placed.ok) return placed;
  const credential = await readCredential(credentials, scope);
  if (!credential.ok) return credential;
  const { user, password, sshKey, knownHosts } = credential.value;
  const remote = { ...placed.value, user, token: password };
  if (sshKey === undefined) return ok(remote);
  const keyFile = await privateFile(directory, "key", sshKey);
  const known = knownHosts === undefined ? {} : { knownHostsFile: await privateFile(directory, "hosts", knownHosts) };
  return ok({ ...remote, ssh: { keyFile, ...known } });
}

/** Where a program that resolves names by itself connects to: the address that was checked. */
async function placeOf(source: SourceUrl, egress: EgressRules): Promise<Result<GitRemote, string>> {
  const { scheme, url } = source;
  // Connections by HTTP are checked by a proxy, also those of redirects.
  if (scheme === "file" || scheme === "http" || scheme === "https") return ok({ source });
  const at = hostOf(source);
  if (at === undefined) return err("expected an address with the name of a host");
  try {
    const address = await egress.addressOf(at.host);
    const isPlain = at.port === "" || at.port === "22";
    if (scheme === "ssh")
      return ok({ source, pinned: { address, hostKeyAlias: isPlain ? at.host : `[${at.host}]:${at.port}` } });
    const pinned = new URL(url);
    pinned.hostname = address.includes(":") ? `[${address}]` : address;
    return ok({ source: { ...source, url: pinned.href } });
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

async function privateFile(directory: string, name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text.endsWith("\n") ? text : `${text}\n`, { mode: 0o600, flag: "wx" });
  return path;
}

/** A path of this machine, with links resolved, if it is below an allowed root. */
export async function localPath(text: string, roots: readonly string[]): Promise<Result<string, string>> {
  const path = text.startsWith("file:") ? fileURLToPath(text) : text;
  const found = await realpath(resolve(path)).catch(() => undefined);
  for (const root of roots) {
    const allowed = await realpath(root).catch(() => undefined);
    const isInside = allowed !== undefined && (found === allowed || found?.startsWith(allowed + sep) === true);
    if (isInside && found !== undefined) return ok(found);
  }
  const where = roots.length === 0 ? "local sources are not allowed" : `allowed are ${roots.join(", ")}`;
  return err(`${path} does not exist below an allowed directory; ${where}`);
}

async function readCredential(given: JsonObject | undefined, scope: SourceScope): Promise<Result<Credential, string>> {
  if (given === undefined) return ok({});
  const reference = objectAt(given, "secretRef");
  if (reference === undefined) return ok(credentialOf((name) => textAt(given, name)));
  const name = textAt(reference, "name") ?? "";
  const namespace = textAt(reference, "namespace") ?? scope.app.identity.namespace;
  const secret = await getOrUndefined(scope.client, { type: Secret, namespace, name }, scope.signal);
  if (secret === undefined) return err(`credentials: secret "${namespace}/${name}" not found`);
  const read = credentialOf((key) => secretText(secret, key));
  if (read.password === undefined && read.sshKey === undefined)
    return err(`credentials: secret "${namespace}/${name}" has neither a key password nor a key ssh-privatekey`);
  return ok(read);
}

/** Names of Kubernetes' own types of Secrets, and those of the step's properties. */
function credentialOf(text: (name: string) => string | undefined): Credential {
  const user = text("username");
  const password = text("password") ?? text("token");
  const sshKey = text("sshKey") ?? text("ssh-privatekey") ?? text("identity");
  const knownHosts = text("known_hosts") ?? text("knownHosts");
  return defined({ user, password, sshKey, knownHosts });
}

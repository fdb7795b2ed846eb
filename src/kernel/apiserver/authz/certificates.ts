import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { codeOf, type Instant, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
import { newAccountKey } from "./account-tokens.ts";
import { admin, mastersGroup } from "./identity.ts";
import type { CertificateSubject, KeyPair } from "./x509.ts";

/** A listener's certificate, its authority, and the administrator's keys. All PEM. */
export interface ServingCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The administrator's certificate (`system:masters`). */
  readonly client: KeyPair;
  /** Signs tokens of ServiceAccounts. */
  readonly accountKey: string;
}

const renewBeforeMs = 30 * 86_400_000;

/** Creates or renews certificates in `dir`. Throws `insecure-permissions`. The caller holds the directory's lock. */
export async function ensureCertificates(
  dir: string,
  now: Instant,
  names: readonly string[] = [],
): Promise<ServingCertificates> {
  await makeDirectories(dir, 0o700);
  await refuseShared(dir);
  const wanted = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...names])];
  const oldAuthority = await readPair(dir, "ca");
  const authority = isFresh(oldAuthority, now) ? oldAuthority : await makeAuthority(dir, now);
  const oldServing = await readPair(dir, "server");
  const usable = isFresh(oldServing, now) && serves(oldServing, authority, wanted);
  const serving = usable ? oldServing : await makeServing(dir, authority, wanted, now);
  const oldClient = await readPair(dir, "admin");
  const isGood = isFresh(oldClient, now) && isOf(oldClient, authority);
  const client = isGood ? oldClient : await makeClient(dir, authority, now);
  return { ca: authority.cert, cert: serving.cert, key: serving.key, client, accountKey: await ensureAccountKey(dir) };
}

/** Valid for `days` and not stored, unless its subject is revocable. Throws `no-authority` before a first start. */
export async function issueClientCertificate(
  dir: string,
  subject: CertificateSubject,
  now: Instant,
  days: number,
): Promise<KeyPair & { readonly ca: string }> {
  await refuseShared(dir);
  const authority = await readPair(dir, "ca");
  if (authority === undefined) throw new SlipwayError("no-authority", `there is no certificate authority in ${dir}`);
  const { createClient } = await import("./x509.ts");
  return { ...(await createClient(authority, subject, now, days)), ca: authority.cert };
}

async function makeClient(dir: string, authority: KeyPair, now: Instant): Promise<KeyPair> {
  const { createClient } = await import("./x509.ts");
  return writePair(dir, "admin", await createClient(authority, { user: admin.user, groups: [mastersGroup] }, now));
}

/** Never replaced: that would invalidate all tokens. */
async function ensureAccountKey(dir: string): Promise<string> {
  const file = join(dir, "sa.key");
  try {
    await refuseShared(file);
    const pem = await readFile(file, "utf8");
    createPrivateKey(pem);
    return pem;
  } catch (thrown) {
    // Damaged or missing: a new one.
    if (codeOf(thrown) === "insecure-permissions") throw thrown;
    const pem = newAccountKey();
    await replace(file, pem);
    return pem;
  }
}

async function makeAuthority(dir: string, now: Instant): Promise<KeyPair> {
  const { createAuthority } = await import("./x509.ts");
  return writePair(dir, "ca", await createAuthority(now, "slipway-ca"));
}

async function makeServing(dir: string, authority: KeyPair, names: readonly string[], now: Instant): Promise<KeyPair> {
  const { createServing } = await import("./x509.ts");
  return writePair(dir, "server", await createServing(authority, names, now));
}

/** Is the pair complete and valid for another month? */
function isFresh(pair: KeyPair | undefined, now: Instant): pair is KeyPair {
  if (pair === undefined) return false;
  try {
    const certificate = new X509Certificate(pair.cert);
    return (
      Date.parse(certificate.validTo) - now > renewBeforeMs && certificate.checkPrivateKey(createPrivateKey(pair.key))
    );
  } catch {
    return false;
  }
}

/** Is the certificate of this authority and valid for all these names? */
function serves(pair: KeyPair, authority: KeyPair, names: readonly string[]): boolean {
  if (!isOf(pair, authority)) return false;
  const certificate = new X509Certificate(pair.cert);
  const carries = (name: string) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name));
  return names.every((name) => carries(name) !== undefined);
}

const isOf = (pair: KeyPair, authority: KeyPair): boolean =>
  new X509Certificate(pair.cert).verify(new X509Certificate(authority.cert).publicKey);

/** Undefined when a file is missing. Refuses a key that others can read. */
async function readPair(dir: string, name: string): Promise<KeyPair | undefined> {
  try {
    const [certFile, keyFile] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
    await refuseShared(keyFile);
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    return { cert, key };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

async function writePair(dir: string, name: string, pair: KeyPair): Promise<KeyPair> {
  // The key first: a certificate without its key would be trusted.
  await replace(join(dir, `${name}.key`), pair.key);
  await replace(join(dir, `${name}.crt`), pair.cert);
  return pair;
}

/** The mode is set twice, because a leftover file keeps its mode. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

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

/** What a listener needs, the authority its clients must trust, and the keys that let the administrator in. All PEM. */
export interface ServingCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The administrator's certificate (`system:masters`) and its key. */
  readonly client: KeyPair;
  /** Signs tokens of ServiceAccounts. */
  readonly accountKey: string;
}

/** A server that is started once a month never serves a certificate that has ended. */
const renewBeforeMs = 30 * 86_400_000;

/**
 * The certificates kept in `dir`, made at the first call and renewed when they have less than 30 days left or lack one of
 * `names`. The directory is 0700 and its files 0600; refuses keys that others can read (`insecure-permissions`).
 *
 * The authority lasts ten years and outlives its serving certificates, so a kubeconfig stays good across renewals. A file that is
 * damaged, or a key that belongs to another certificate (a crash between the two writes), is made anew like an old one; a new
 * authority makes a new serving certificate too. One process at a time: the data directory's lock sees to that.
 */
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

/**
 * A certificate of this directory's authority for a user in groups, with its key: who has it is let in as that user until it ends
 * (`days`), without anything being stored, unless its subject is revocable. Throws `no-authority` when no server has made one here yet.
 */
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

/** Tokens live shorter than the key, which has no end: replacing it would end them all. */
async function ensureAccountKey(dir: string): Promise<string> {
  const file = join(dir, "sa.key");
  try {
    await refuseShared(file);
    const pem = await readFile(file, "utf8");
    createPrivateKey(pem);
    return pem;
  } catch (thrown) {
    // Damaged or missing: a new one. What others can read is refused instead.
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

/** Is the pair whole, of one piece, and good for another month? */
function isFresh(pair: KeyPair | undefined, now: Instant): pair is KeyPair {
  if (pair === undefined) return false;
  try {
    const certificate = new X509Certificate(pair.cert);
    return (
      Date.parse(certificate.validTo) - now > renewBeforeMs && certificate.checkPrivateKey(createPrivateKey(pair.key))
    );
  } catch {
    // A damaged file is replaced like an old one.
    return false;
  }
}

/** Is the certificate of this authority, and good for all these names? Names that were dropped since do no harm. */
function serves(pair: KeyPair, authority: KeyPair, names: readonly string[]): boolean {
  if (!isOf(pair, authority)) return false;
  const certificate = new X509Certificate(pair.cert);
  const carries = (name: string) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name));
  return names.every((name) => carries(name) !== undefined);
}

const isOf = (pair: KeyPair, authority: KeyPair): boolean =>
  new X509Certificate(pair.cert).verify(new X509Certificate(authority.cert).publicKey);

/** Undefined when either file is missing. The key is refused before it is read when others can read it. */
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
  // The key first: a certificate without its key would be believed.
  await replace(join(dir, `${name}.key`), pair.key);
  await replace(join(dir, `${name}.crt`), pair.cert);
  return pair;
}

/** Whole or not at all. The mode is set twice, because a file left by an earlier crash keeps the mode it had. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

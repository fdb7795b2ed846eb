import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  isFresh,
  isOf,
  type KeyPair,
  loadX509,
  readPair,
  replaceKey,
  servesNames,
  writePair,
} from "#kernel/doors/index.ts";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
import { codeOf, type Instant, SlipwayError } from "#lib/base/index.ts";
import { newAccountKey } from "./account-tokens.ts";
import { admin, mastersGroup } from "./identity.ts";
import { revocableUnit } from "./client-certificate.ts";

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
  const usable = isFresh(oldServing, now) && isOf(oldServing, authority) && servesNames(oldServing, wanted);
  const serving = usable ? oldServing : await makeServing(dir, authority, wanted, now);
  const oldClient = await readPair(dir, "admin");
  const isGood = isFresh(oldClient, now) && isOf(oldClient, authority);
  const client = isGood ? oldClient : await makeClient(dir, authority, now);
  return { ca: authority.cert, cert: serving.cert, key: serving.key, client, accountKey: await ensureAccountKey(dir) };
}

export interface ClientSubject {
  readonly user: string;
  readonly groups: readonly string[];
  /** Valid only while its credential exists. */
  readonly isRevocable?: boolean;
}

/** Valid for `days` and not stored, unless its subject is revocable. Throws `no-authority` before a first start. */
export async function issueClientCertificate(
  dir: string,
  { user, groups, isRevocable = false }: ClientSubject,
  now: Instant,
  days: number,
): Promise<KeyPair & { readonly ca: string }> {
  await refuseShared(dir);
  const authority = await readPair(dir, "ca");
  if (authority === undefined) throw new SlipwayError("no-authority", `there is no certificate authority in ${dir}`);
  const { createClient } = await loadX509();
  const subject = { user, groups, unit: isRevocable ? revocableUnit : undefined };
  return { ...(await createClient(authority, subject, now, days)), ca: authority.cert };
}

async function makeClient(dir: string, authority: KeyPair, now: Instant): Promise<KeyPair> {
  const { createClient } = await loadX509();
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
    await replaceKey(file, pem);
    return pem;
  }
}

async function makeAuthority(dir: string, now: Instant): Promise<KeyPair> {
  const { createAuthority } = await loadX509();
  return writePair(dir, "ca", await createAuthority(now, "slipway-ca"));
}

async function makeServing(dir: string, authority: KeyPair, names: readonly string[], now: Instant): Promise<KeyPair> {
  const { createServing } = await loadX509();
  return writePair(dir, "server", await createServing(authority, names, now));
}

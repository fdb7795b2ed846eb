// Loaded on use: importing the library takes a quarter of a second.
import "reflect-metadata/lite";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { randomBytes, webcrypto } from "node:crypto";
import type { JsonName } from "@peculiar/x509";
import { isIP } from "node:net";
import type { Instant } from "#lib/base/index.ts";

/** PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

// P-256: every TLS library supports it, and key generation is fast.

const dayMs = 86_400_000;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const generateKeys = () => webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);

/** Valid for ten years; signs certificates of servers and clients only (path length 0). */
export async function createAuthority(now: Instant, name: string): Promise<KeyPair> {
  const keys = await generateKeys();
  return issue({
    subject: `CN=${name}`,
    issuer: `CN=${name}`,
    now,
    days: 3650,
    keys,
    signer: keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
}

/** Valid for a year; names are only in subjectAltName (RFC 9525). */
export async function createServing(authority: KeyPair, names: readonly string[], now: Instant): Promise<KeyPair> {
  const keys = await generateKeys();
  const issuer = new X509Certificate(authority.cert);
  return issue({
    subject: "CN=slipway",
    issuer: issuer.subject,
    now,
    days: 365,
    keys,
    signer: await importKey(authority.key),
    extensions: [...servingExtensions(names), await AuthorityKeyIdentifierExtension.create(issuer)],
  });
}

/** Valid for ten years, for clients that know the certificate itself or check none. */
export async function createSelfSigned(names: readonly string[], now: Instant): Promise<KeyPair> {
  const keys = await generateKeys();
  return issue({
    subject: "CN=slipway",
    issuer: "CN=slipway",
    now,
    days: 3650,
    keys,
    signer: keys.privateKey,
    extensions: servingExtensions(names),
  });
}

const servingExtensions = (names: readonly string[]): Extension[] => [
  new BasicConstraintsExtension(false, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
  new SubjectAlternativeNameExtension(
    names.map((name) => ({ type: isIP(name) === 0 ? ("dns" as const) : ("ip" as const), value: name })),
  ),
];

export interface CertificateSubject {
  readonly user: string;
  readonly groups: readonly string[];
  /** `OU`. */
  readonly unit?: string | undefined;
}

/** A client certificate (`CN` and `O`, as in Kubernetes), valid for `days` and not for serving. */
export async function createClient(
  authority: KeyPair,
  subject: CertificateSubject,
  now: Instant,
  days = 365,
): Promise<KeyPair> {
  const keys = await generateKeys();
  const issuer = new X509Certificate(authority.cert);
  const { user, groups, unit } = subject;
  const names = [
    ...(groups.length === 0 ? [] : [{ O: [...groups] }]),
    ...(unit === undefined ? [] : [{ OU: [unit] }]),
    { CN: [user] },
  ];
  return issue({
    subject: names,
    issuer: issuer.subject,
    now,
    days,
    keys,
    signer: await importKey(authority.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
      await AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
}

interface Issue {
  /** RFC 4514 text, or parts, which may hold any character. */
  readonly subject: string | JsonName;
  readonly issuer: string;
  readonly now: Instant;
  readonly days: number;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly signer: webcrypto.CryptoKey;
  readonly extensions: Extension[];
}

async function issue({ subject, issuer, now, days, keys, signer, extensions }: Issue): Promise<KeyPair> {
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer,
    // Tolerates clients, and this machine, with slow clocks.
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + days * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: signer,
    extensions,
  });
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: `${certificate.toString("pem")}\n`, key: `${PemConverter.encode(pkcs8, "PRIVATE KEY")}\n` };
}

/** 127 random bits, positive (RFC 5280 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const [der] = PemConverter.decode(pem);
  if (der === undefined) throw new Error("the key file of the certificate authority holds no key");
  return webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
}

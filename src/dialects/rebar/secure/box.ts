import nacl from "tweetnacl";
import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";

/** A value that only its owner's key opens, as clients send it; all members are base64. */
export interface SecureData {
  /** The public key of the pair that sealed it, made for this value only. */
  readonly Key: string;
  readonly Nonce: string;
  readonly Payload: string;
}

export interface KeyPair {
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

/** Fills with random bytes of cryptographic quality. */
export type RandomBytes = (length: number) => Uint8Array;

const { publicKeyLength, secretKeyLength, nonceLength, overheadLength } = nacl.box;

export const newKeyPair = (random: RandomBytes): KeyPair => keyPairOf(random(secretKeyLength));

export const keyPairOf = (secretKey: Uint8Array): KeyPair => nacl.box.keyPair.fromSecretKey(secretKey);

/** As `GET /P/K/pubkey` answers it. */
export const publicKeyText = ({ publicKey }: KeyPair): string => Buffer.from(publicKey).toString("base64");

/** True if the value has the form of a sealed one. */
export function isSealed(value: unknown): value is SecureData {
  if (!isJsonObject(value)) return false;
  const [key, nonce, payload] = [value["Key"], value["Nonce"], value["Payload"]].map(bytesOf);
  if (key === undefined || nonce === undefined || payload === undefined) return false;
  return key.length === publicKeyLength && nonce.length === nonceLength && payload.length >= overheadLength;
}

export function seal(publicKey: Uint8Array, value: JsonValue, random: RandomBytes): SecureData {
  const own = newKeyPair(random);
  const nonce = random(nonceLength);
  const payload = nacl.box(Buffer.from(JSON.stringify(value)), nonce, publicKey, own.secretKey);
  return { Key: textOf(own.publicKey), Nonce: textOf(nonce), Payload: textOf(payload) };
}

/** The error says nothing of the content. */
export function open(secretKey: Uint8Array, sealed: unknown): Result<JsonValue, string> {
  if (!isSealed(sealed)) return err("expected SecureData with Key, Nonce and Payload");
  const [key, nonce, payload] = [sealed.Key, sealed.Nonce, sealed.Payload].map((text) => Buffer.from(text, "base64"));
  if (key === undefined || nonce === undefined || payload === undefined) return err(corrupted);
  const opened = nacl.box.open(payload, nonce, key, secretKey);
  if (opened === null) return err(corrupted);
  const read = parseJson(Buffer.from(opened).toString());
  return read.ok ? ok(read.value) : err("the sealed value is not JSON");
}

const corrupted = "SecureData corrupted";

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const bytesOf = (value: unknown): Uint8Array | undefined =>
  typeof value === "string" ? Buffer.from(value, "base64") : undefined;

// Imported only when a certificate is made: the library takes a quarter of a second to load.

export { createAuthority, createClient, createSelfSigned, createServing, type KeyPair } from "./x509.ts";
export { ensureSelfSigned } from "./self-signed.ts";

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The token file of Wharf's services in the data directory of a server that was given none. */
export const wharfTokenFile = (dataDirectory: string): string => join(dataDirectory, "wharf/auth-token");

/** What clients of these services send, as this user's programs do. */
export const wharfHeaders = (dataDirectory: string): { readonly authorization: string } => ({
  authorization: `Bearer ${readFileSync(wharfTokenFile(dataDirectory), "utf8").trim()}`,
});

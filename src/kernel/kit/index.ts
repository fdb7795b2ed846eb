export type * from "./client/api-client.ts";

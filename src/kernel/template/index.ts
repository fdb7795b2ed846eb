export * from "./plan.ts";
export * from "./template-host.ts";

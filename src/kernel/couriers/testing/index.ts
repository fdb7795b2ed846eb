export * from "./memory-courier.ts";

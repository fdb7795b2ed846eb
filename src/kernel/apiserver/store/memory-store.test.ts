import { describe } from "vitest";
import { memoryStore } from "./open.ts";
import { storeContract } from "./store.contract.ts";

describe("the store in memory", () => {
  storeContract(async (use, options) => {
    const store = memoryStore(options);
    try {
      await use(store);
    } finally {
      await store.close();
    }
  });
});

export { MemoryClient, memoryClient, type MemoryClientOptions } from "./memory-client.ts";
export { widget, type WidgetObject, widgetReconciler } from "./widget-reconciler.ts";
export { chaosClient, type ChaosClient, type ChaosFaults } from "./chaos-client.ts";
export { seededRandom } from "./seeded-random.ts";

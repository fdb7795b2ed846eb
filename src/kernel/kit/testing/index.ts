export { MemoryClient, memoryClient, type MemoryClientOptions } from "./memory-client.ts";
export { widget, type WidgetObject, widgetReconciler } from "./widget-reconciler.ts";

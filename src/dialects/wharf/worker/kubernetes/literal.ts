export const literal = (text: string): string => text.replaceAll(/\$(?=[$(])/g, "$$$$");

export function initialize(folder: string): void;
export function bundleOf(program: string): Promise<string>;

//! The program that the kernel runs at each system call, written instruction by instruction: linux/bpf.h and the kernel's
//! Documentation/bpf/standardization/instruction-set.rst.

use super::bpf::Instruction;

/// Numbers with a counter each; one more counter takes all numbers above. Together they are a power of two: one copy.
pub(super) const NUMBERS: usize = 511;
/// Counters of one copy.
pub(super) const COUNTERS: usize = NUMBERS + 1;
/// The most copies. Cores share them if there are more cores, and atomic additions lose nothing.
pub(super) const MOST_COPIES: usize = 64;

/// Whose system calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// Those of the process with this id in the initial pid namespace.
    Initial {
        /// The process.
        process: u32,
    },
    /// Those of the process with this id in the pid namespace whose file in nsfs has this device and inode.
    Namespace {
        /// The process.
        process: u32,
        /// `st_dev`.
        device: u64,
        /// `st_ino`.
        inode: u64,
    },
}

/// Numbers that a program needs in its map: `copies` times [`COUNTERS`], and one for the process that it has recognised.
pub(super) fn numbers(copies: usize) -> usize {
    copies * COUNTERS + 1
}

/// A program that counts by number into the map with this descriptor, which has [`numbers`] of `copies`, a power of two. Each
/// core adds to a copy of its own if there are enough.
pub(super) fn program(filter: Filter, map: i32, copies: usize) -> Vec<Instruction> {
    let mut code = Code::default();
    // The tracepoint's arguments are the registers of the calling thread and the number of the call.
    code.push(LOAD, R6, R1, 8, 0);
    code.wide(R7, PSEUDO_MAP_VALUE, u64::from(map.cast_unsigned()));
    code.call(GET_CURRENT_PID_TGID);
    code.push(RIGHT, R0, 0, 0, 32);
    match filter {
        Filter::Initial { process } => code.exit_unless_equal(R0, process.cast_signed()),
        Filter::Namespace { process, device, inode } => {
            code.push(MOVE, R8, R0, 0, 0);
            code.push(MOVE, R9, R7, 0, 0);
            code.push(ADD, R9, 0, 0, (copies * COUNTERS * size_of::<u64>()) as i32);
            code.push(LOAD, R1, R9, 0, 0);
            // Asking for the id in the namespace takes 100 ns: it is done until the process is recognised.
            let recognised = code.jump(SKIP_UNLESS_EQUAL, R1, 0);
            code.wide(R1, 0, device);
            code.wide(R2, 0, inode);
            code.push(MOVE, R3, R10, 0, 0);
            code.push(ADD, R3, 0, 0, -PID_AND_TGID);
            code.push(SET, R4, 0, 0, PID_AND_TGID);
            code.call(GET_NS_CURRENT_PID_TGID);
            // Not 0: the process is in another namespace.
            code.exit_unless_equal(R0, 0);
            code.push(LOAD_HALF, R0, R10, -(PID_AND_TGID / 2) as i16, 0);
            code.exit_unless_equal(R0, process.cast_signed());
            code.push(STORE, R9, R8, 0, 0);
            code.push(MOVE, R1, R8, 0, 0);
            code.land(recognised);
            code.exit_unless_same(R1, R8);
        }
    }
    code.call(GET_SMP_PROCESSOR_ID);
    code.push(AND, R0, 0, 0, copies as i32 - 1);
    code.push(LEFT, R0, 0, 0, COUNTERS.ilog2() as i32);
    code.push(SKIP_IF_LESS, R6, 0, 1, NUMBERS as i32);
    code.push(SET, R6, 0, 0, NUMBERS as i32);
    code.push(ADD_REGISTER, R0, R6, 0, 0);
    code.push(LEFT, R0, 0, 0, size_of::<u64>().ilog2() as i32);
    code.push(ADD_REGISTER, R7, R0, 0, 0);
    code.push(SET, R0, 0, 0, 1);
    code.push(ATOMIC_ADD, R7, R0, 0, 0);
    code.finish()
}

const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const R6: u8 = 6;
const R7: u8 = 7;
const R8: u8 = 8;
const R9: u8 = 9;
const R10: u8 = 10; // The end of the stack.

const LOAD: u8 = 0x79; // r = *(u64 *)(s + offset)
const LOAD_HALF: u8 = 0x61; // r = *(u32 *)(s + offset)
const STORE: u8 = 0x7b; // *(u64 *)(r + offset) = s
const LOAD_WIDE: u8 = 0x18; // r = immediate, 64 bits in two instructions
const MOVE: u8 = 0xbf; // r = s
const SET: u8 = 0xb7; // r = immediate
const ADD: u8 = 0x07; // r += immediate
const ADD_REGISTER: u8 = 0x0f; // r += s
const AND: u8 = 0x57; // r &= immediate
const LEFT: u8 = 0x67; // r <<= immediate
const RIGHT: u8 = 0x77; // r >>= immediate
const ATOMIC_ADD: u8 = 0xdb; // lock *(u64 *)(r + offset) += s
const SKIP_IF_LESS: u8 = 0xa5; // if r < immediate (unsigned) skip offset
const SKIP_UNLESS_EQUAL: u8 = 0x56; // if (u32) r != immediate skip offset
const SKIP_UNLESS_SAME: u8 = 0x5d; // if r != s skip offset
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

const GET_SMP_PROCESSOR_ID: i32 = 8;
const GET_CURRENT_PID_TGID: i32 = 14;
const GET_NS_CURRENT_PID_TGID: i32 = 120;

/// The value of the only element of the map with this descriptor.
const PSEUDO_MAP_VALUE: u8 = 2;

/// Size of `struct bpf_pidns_info`: the thread's id and the process' id, 32 bits each.
const PID_AND_TGID: i32 = 8;

#[derive(Default)]
struct Code {
    instructions: Vec<Instruction>,
    /// Jumps to the end, whose distance is not known yet.
    exits: Vec<usize>,
}

impl Code {
    fn push(&mut self, code: u8, destination: u8, source: u8, offset: i16, immediate: i32) {
        let registers = match cfg!(target_endian = "big") {
            true => destination << 4 | source,
            false => source << 4 | destination,
        };
        self.instructions.push(Instruction { code, registers, offset, immediate });
    }

    fn call(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    /// With `pseudo` other than 0 the number is not the value but names it.
    fn wide(&mut self, destination: u8, pseudo: u8, value: u64) {
        self.push(LOAD_WIDE, destination, pseudo, 0, (value as u32).cast_signed());
        // For a map's value the second half is where in it: at its beginning.
        self.push(0, 0, 0, 0, ((value >> 32) as u32).cast_signed());
    }

    /// Skips if `register` compares so with `value`, as far as [`Code::land`] sets for the jump that this returns.
    fn jump(&mut self, comparison: u8, register: u8, value: i32) -> usize {
        self.push(comparison, register, 0, 0, value);
        self.instructions.len() - 1
    }

    /// The jump leads to the next instruction.
    fn land(&mut self, jump: usize) {
        let next = self.instructions.len();
        if let Some(instruction) = self.instructions.get_mut(jump) {
            instruction.offset = (next - jump - 1) as i16;
        }
    }

    fn exit_unless_equal(&mut self, register: u8, value: i32) {
        let exit = self.jump(SKIP_UNLESS_EQUAL, register, value);
        self.exits.push(exit);
    }

    fn exit_unless_same(&mut self, one: u8, other: u8) {
        self.exits.push(self.instructions.len());
        self.push(SKIP_UNLESS_SAME, one, other, 0, 0);
    }

    fn finish(mut self) -> Vec<Instruction> {
        for jump in std::mem::take(&mut self.exits) {
            self.land(jump);
        }
        self.push(SET, R0, 0, 0, 0);
        self.push(EXIT, 0, 0, 0, 0);
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_lands_on_an_instruction_and_most_on_the_end() {
        for (filter, exits) in [
            (Filter::Initial { process: 7 }, 1),
            (Filter::Namespace { process: 7, device: 4, inode: 4_026_531_836 }, 3),
        ] {
            let code = program(filter, 3, 2);
            let end = code.len() - 2;
            assert_eq!((code[end].code, code[end + 1].code), (SET, EXIT));
            let jumps = [SKIP_UNLESS_EQUAL, SKIP_UNLESS_SAME, SKIP_IF_LESS];
            let targets: Vec<usize> = (0..code.len())
                .filter(|&at| jumps.contains(&code[at].code))
                .map(|at| at + 1 + code[at].offset as usize)
                .collect();
            assert!(targets.iter().all(|&target| target <= end && code[target].code != 0), "{targets:?}");
            assert_eq!(targets.iter().filter(|&&target| target == end).count(), exits, "{targets:?}");
        }
    }

    #[test]
    fn wide_numbers_are_given_in_halves() {
        let mut code = Code::default();
        code.wide(R1, 0, 0xf000_0001_8000_0002);
        let halves: Vec<u32> = code.instructions.iter().map(|half| half.immediate.cast_unsigned()).collect();
        assert_eq!(halves, [0x8000_0002, 0xf000_0001]);
    }
}

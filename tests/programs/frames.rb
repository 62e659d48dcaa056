# Prints its stack at each call of getppid(2): one line of JSON for each, with the thread's number and frames of [name, file, line].
# C functions have no place of their own there: their file is "<cfunc>", and their line 0.
require "json"

$lines = Queue.new
FILE = __FILE__

def mark
  at = caller_locations(0)
  Process.ppid
  # This line's frame calls getppid(2) one line below what `at` says, from C.
  frames = at.map { |l| [l.label, l.path, l.lineno] }
  frames[0][2] += 1
  $lines << [Thread.current.thread_variable_get(:number), frames]
end

def recurse(n, &block)
  n.zero? ? block.call : recurse(n - 1, &block)
end

class Shape
  include Comparable
  attr_reader :size

  def initialize(size)
    @size = size
  end

  def <=>(other)
    mark if size == 3
    size <=> other.size
  end

  define_method(:measure) { |n| n.times { mark } }

  def method_missing(name, *)
    mark
  end

  def respond_to_missing?(*)
    true
  end
end

def raises
  yield
rescue ArgumentError
  mark
ensure
  mark
end

def kinds(fiber, enumerator)
  mark
  recurse(rand(40)) { mark }
  [3, 1, 2].sort_by { |x| mark; x }
  [4, 3].map { |x| [x].each { mark } }
  { a: 1 }.each_with_object([]) { mark }
  [Shape.new(3), Shape.new(2)].sort
  Shape.new(1).measure(2)
  Shape.new(1).unknown
  raises { raise ArgumentError }
  catch(:done) { recurse(2) { mark; throw :done } }
  "a-b".gsub(/-/) { mark; "+" }
  eval("mark; [1].each { mark }", binding, "made.rb", 7)
  Shape.class_eval { mark }
  1.upto(2) { mark }
  loop { mark; break }
  [1].lazy.map { mark }.first
  :unknown.to_proc.call(Shape.new(1))
  method(:mark).call
  send(:mark)
  Integer("7").then { mark }
  fiber.resume
  enumerator.next
  proc { |x| mark }.call(1)
  ->(x) { mark }.(1)
  Struct.new(:x) { def go = yield }.new(1).go { mark }
end

def work(number, calls)
  Thread.current.thread_variable_set(:number, number)
  fiber = Fiber.new { loop { mark; [1].each { Fiber.yield } } }
  enumerator = Enumerator.new { |y| loop { mark; y << 1 } }
  calls.times { kinds(fiber, enumerator) }
end

calls = Integer(ARGV[0])
# Time for a recorder to find the interpreter: samples lead it to the process.
25.times { mark; sleep 0.02 }
work(0, calls)
(1..3).map { |i| Thread.new { work(i, calls) } }.each(&:join)
puts $lines.pop.to_json until $lines.empty?
# Names are read from the living program, a moment after they are first seen.
sleep 0.5
